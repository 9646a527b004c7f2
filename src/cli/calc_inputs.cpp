// Bodies of calc_inputs.h.
#include "cli/calc_inputs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "calculators/known_models.h"
#include "core/files.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"

namespace ringside::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kLongestFile = 64'000'000;
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;  // of one tensor

[[noreturn]] void fail(const std::string& file, const std::string& fault) {
  throw Error(ErrorKind::kInvalidInput, fmt::format("{}: {}", file, fault),
              R"(write a list of names and shapes: [["0.weight", [10, 64]], ["0.bias", [10]]])");
}

ordered_json parsed(const std::string& file, const std::string& text) {
  ordered_json json = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(file, "is no JSON");
  return json;
}

NamedShape entry_of(const std::string& file, std::size_t number, const ordered_json& json) {
  if (!json.is_array() || json.size() < 2 || !json[0].is_string() || !json[1].is_array()) {
    fail(file, fmt::format("entry {} is no [name, shape]", number));
  }
  NamedShape entry{json[0].get<std::string>(), {}};
  std::int64_t elements = 1;
  for (const ordered_json& size : json[1]) {
    if (!size.is_number_integer() || size.get<std::int64_t>() < 0 ||
        (size.get<std::int64_t>() > 0 && elements > kMostElements / size.get<std::int64_t>())) {
      fail(file, fmt::format("'{}': {} is no size of a tensor", entry.name, size.dump()));
    }
    entry.shape.push_back(size.get<std::int64_t>());
    elements *= entry.shape.back();
  }
  return entry;
}

std::vector<NamedShape> entries_of(const std::string& file, const ordered_json& json) {
  const ordered_json& list =
      json.is_object() && json.contains("parameters") ? json["parameters"] : json;
  if (!list.is_array()) fail(file, "has no list of parameters");
  std::vector<NamedShape> entries;
  for (const ordered_json& entry : list) entries.push_back(entry_of(file, entries.size(), entry));
  return entries;
}

std::vector<NamedShape> safetensors_entries(const std::string& file) {
  std::vector<NamedShape> entries;
  for (const SafetensorsEntry& entry : read_safetensors_header(file).entries) {
    entries.push_back({entry.name, entry.shape});
  }
  return entries;
}

std::vector<std::string> keys_of(const std::string& file, const ordered_json& json) {
  std::vector<std::string> keys;
  if (json.is_object() && !json.contains("parameters")) {
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    return keys;
  }
  if (json.is_array() && (json.empty() || json.front().is_string())) {
    for (const ordered_json& key : json) {
      if (!key.is_string()) fail(file, fmt::format("{} is no key", key.dump()));
      keys.push_back(key.get<std::string>());
    }
    return keys;
  }
  for (const NamedShape& entry : entries_of(file, json)) keys.push_back(entry.name);
  return keys;
}

}  // namespace

std::vector<NamedShape> read_parameters(const std::string& model) {
  std::vector<NamedShape> entries;
  if (model.ends_with(".safetensors")) {
    entries = safetensors_entries(model);
  } else if (model.ends_with(".json")) {
    entries = entries_of(model, parsed(model, read_whole_file(model, kLongestFile)));
  } else {
    entries = known_model(model);
  }
  if (elements_of(entries) > kMostParameters) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: {} parameters: at most {} are counted", model,
                            elements_of(entries), kMostParameters));
  }
  return entries;
}

std::vector<std::string> read_keys(const std::string& file) {
  std::vector<std::string> keys;
  if (file.ends_with(".safetensors")) {
    for (const NamedShape& entry : safetensors_entries(file)) keys.push_back(entry.name);
    return keys;
  }
  const std::string text = read_whole_file(file, kLongestFile);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (text[first] == '[' || text[first] == '{')) {
    return keys_of(file, parsed(file, text));
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) keys.push_back(line);
  }
  return keys;
}

}  // namespace ringside::cli
