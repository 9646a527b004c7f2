// Bodies of calc_json.h.
#include "cli/calc_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/clean_text.h"
#include "ringside/error.h"

namespace ringside::cli {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // of one tensor
constexpr int kDeepest = 8;                                    // lists within lists

constexpr std::string_view kTensorsHint =
    R"(write a list of names and shapes: [["0.weight", [10, 64]], ["0.bias", [10], "float16"]])";
constexpr std::string_view kKeysHint =
    R"(write a list of names: ["module.0.weight", "module.0.bias"])";

/// A file's text, and what to write instead if it cannot be taken.
struct Source {
  const std::string& file;
  const std::string& text;
  std::string_view hint;

  [[noreturn]] void fail(const std::string& fault) const {
    throw Error(ErrorKind::kInvalidInput, fmt::format("{}: {}", file, fault), std::string(hint));
  }
};

std::string place_of(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? at : at - newline - 1;
  return fmt::format("line {}, column {}", line, column + 1);
}

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

/// `at`: where the parser stopped.
[[noreturn]] void fail_syntax(const Source& source, std::size_t at) {
  // A word is seen to be none somewhere inside: "trailing" begins as "true" does.
  while (at > 0 && at < source.text.size() && is_letter(source.text[at - 1])) --at;
  const std::string place = place_of(source.text, std::min(at, source.text.size()));
  source.fail(at >= source.text.size()
                  ? fmt::format("is no JSON: ends too early, at {}", place)
                  : fmt::format("is no JSON: {}: '{}' cannot stand there", place,
                                shown_name(std::string_view(source.text).substr(at, 8))));
}

/// A document, and the keys of its outermost object in the file's order. A type that keeps that
/// order itself would look through all keys for each.
struct Document {
  Json json;
  std::vector<std::string> keys;
};

Document parsed(const Source& source) {
  // The parser takes a NUL for the end, and would not look at what follows.
  if (const std::size_t nul = source.text.find('\0'); nul != std::string::npos) {
    source.fail(fmt::format("is no JSON: {}: a NUL", place_of(source.text, nul)));
  }
  Document document;
  std::vector<std::string>& keys = document.keys;  // the parser keeps the last of equal ones
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kDeepest) source.fail(fmt::format("has lists {} deep", kDeepest));
    const bool is_key = event == Json::parse_event_t::key && depth == 1;
    if (is_key) keys.push_back(value.get<std::string>());
    return true;
  };
  try {
    document.json = Json::parse(source.text, watch);
  } catch (const Json::parse_error& error) {
    fail_syntax(source, error.byte == 0 ? 0 : error.byte - 1);
  } catch (const Json::exception&) {
    source.fail("has a number that is too large");
  }
  std::vector<std::size_t> places(keys.size());
  std::iota(places.begin(), places.end(), std::size_t{1});
  check_names_differ(source.file, keys, places, "keys");
  return document;
}

std::string value_text(const Json& json) {
  if (json.is_structured()) return json.is_array() ? "a list" : "an object";
  return shown_name(json.dump());
}

std::vector<std::int64_t> shape_of(const Source& source, const std::string& name,
                                   const Json& json) {
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  for (const Json& size : json) {
    if (!size.is_number_unsigned()) {
      source.fail(fmt::format("'{}': {} is no size: must be a whole number from 0 on",
                              shown_name(name), value_text(size)));
    }
    const auto number = size.get<std::uint64_t>();
    if (number > kMostElements ||
        (number > 0 && elements > kMostElements / static_cast<std::int64_t>(number))) {
      source.fail(fmt::format("'{}': a tensor of more than {} elements, the most that one may have",
                              shown_name(name), kMostElements));
    }
    shape.push_back(static_cast<std::int64_t>(number));
    elements *= shape.back();
  }
  return shape;
}

/// "float16" and "torch.float16".
DType dtype_of(const Source& source, const std::string& name, const Json& json) {
  if (!json.is_string()) {
    source.fail(fmt::format("'{}': its dtype is {}, must be a text such as \"float16\"",
                            shown_name(name), value_text(json)));
  }
  constexpr std::string_view kPackage = "torch.";
  const auto text = json.get<std::string>();
  const bool has_package = text.starts_with(kPackage);
  try {
    return parse_dtype(std::string_view(text).substr(has_package ? kPackage.size() : 0));
  } catch (const Error& error) {
    source.fail(fmt::format("'{}': {}", shown_name(name), error.what()));
  }
}

ModelTensor tensor_of(const Source& source, std::size_t number, const Json& json) {
  const bool has_form = json.is_array() && (json.size() == 2 || json.size() == 3) &&
                        json[0].is_string() && json[1].is_array();
  if (!has_form) {
    source.fail(fmt::format("entry {} is no [name, shape] or [name, shape, dtype]", number));
  }
  auto name = json[0].get<std::string>();
  std::vector<std::int64_t> shape = shape_of(source, name, json[1]);
  const DType dtype = json.size() == 3 ? dtype_of(source, name, json[2]) : DType::kFloat32;
  return {{std::move(name), std::move(shape)}, dtype};
}

/// The names of a list of which entry i is number i + 1.
void check_entries_differ(const Source& source, const std::vector<std::string>& names) {
  std::vector<std::size_t> places(names.size());
  std::iota(places.begin(), places.end(), std::size_t{1});
  check_names_differ(source.file, names, places, "entries");
}

std::vector<ModelTensor> tensors_of(const Source& source, const Json& json) {
  const Json& list = json.is_object() && json.contains("parameters") ? json["parameters"] : json;
  if (!list.is_array()) source.fail("has no list of parameters");
  std::vector<ModelTensor> tensors;
  std::vector<std::string> names;
  for (const Json& entry : list) {
    tensors.push_back(tensor_of(source, tensors.size() + 1, entry));
    names.push_back(tensors.back().named.name);
  }
  check_entries_differ(source, names);
  return tensors;
}

}  // namespace

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '[' || text[first] == '{');
}

void check_names_differ(const std::string& file, const std::vector<std::string>& names,
                        const std::vector<std::size_t>& places, std::string_view noun) {
  std::unordered_map<std::string_view, std::size_t> first;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [found, is_new] = first.emplace(names[i], i);
    if (is_new) continue;
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: '{}' stands there twice: {} {} and {}", file, shown_name(names[i]),
                            noun, places[found->second], places[i]),
                "a state has every name once: take one of them out");
  }
}

std::vector<ModelTensor> tensors_of_json(const std::string& file, const std::string& text) {
  const Source source{file, text, kTensorsHint};
  return tensors_of(source, parsed(source).json);
}

std::vector<std::string> keys_of_json(const std::string& file, const std::string& text) {
  const Source source{file, text, kKeysHint};
  Document document = parsed(source);
  const Json& json = document.json;
  if (json.is_object() && !json.contains("parameters")) return std::move(document.keys);
  std::vector<std::string> keys;
  if (!json.is_array() || json.empty() || !json.front().is_string()) {
    for (ModelTensor& tensor : tensors_of(source, json)) {
      keys.push_back(std::move(tensor.named.name));
    }
    return keys;
  }
  for (const Json& key : json) {
    if (!key.is_string()) {
      source.fail(fmt::format("entry {}, {}, is no name", keys.size() + 1, value_text(key)));
    }
    keys.push_back(key.get<std::string>());
  }
  check_entries_differ(source, keys);
  return keys;
}

}  // namespace ringside::cli
