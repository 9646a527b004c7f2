#include "trace/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ringside/error.h"

namespace ringside {
namespace {

/// A JSON object's fields. nlohmann's parser asks operator[] for a place for each field that it
/// reads, and would silently keep the last of two with one name.
template <typename Key, typename Value, typename Less, typename Allocator>
class Fields : public std::map<Key, Value, Less, Allocator> {
 public:
  using Map = std::map<Key, Value, Less, Allocator>;
  using Map::Map;

  Value& operator[](const Key& key) {
    const auto [field, is_new] = Map::try_emplace(key);
    if (!is_new) repeated_ = key;
    return field->second;
  }
  /// A name that came twice.
  const std::optional<Key>& repeated() const { return repeated_; }

 private:
  std::optional<Key> repeated_;
};

using json = nlohmann::basic_json<Fields>;

const json& json_of(const void* value) { return *static_cast<const json*>(value); }

// The place of `wanted` under `value`, found only once something is wrong with it. Our forms are
// flatter than `depth`; what lies deeper has been refused before it was looked into.
bool find_place(const json& value, const void* wanted, int depth, std::string& place) {
  if (&value == wanted) return true;
  if (depth == 0 || !value.is_structured()) return false;
  const std::size_t length = place.size();
  for (auto child = value.begin(); child != value.end(); ++child) {
    if (value.is_array()) {
      place += fmt::format("[{}]", child - value.begin());
    } else {
      place += place.empty() ? child.key() : "." + child.key();
    }
    if (find_place(*child, wanted, depth - 1, place)) return true;
    place.resize(length);
  }
  return false;
}

// nlohmann's "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...;
// last read: '...'" without its first and last part.
std::string words_of(const json::exception& error) {
  std::string words = error.what();
  if (const std::size_t begin = words.find("] "); begin != std::string::npos) {
    words.erase(0, begin + 2);
  }
  if (words.starts_with("parse error at "))
    words.erase(0, std::string_view("parse error at ").size());
  if (const std::size_t last = words.find("; last read"); last != std::string::npos) {
    words.resize(last);
  }
  return words;
}

}  // namespace

struct JsonDocument::Impl {
  std::string source_name;
  json root;
};

JsonDocument::JsonDocument(std::string_view text, std::string_view source_name)
    : impl_(std::make_unique<Impl>()) {
  impl_->source_name = source_name;
  // The parser takes a NUL for the end, and would not look at what follows.
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
    throw Error(ErrorKind::kInvalidInput, fmt::format("{}: byte {} is a NUL", source_name, at + 1),
                "the file is damaged or no JSON; write it again");
  }
  try {
    impl_->root = json::parse(text);
  } catch (const json::exception& error) {
    throw Error(ErrorKind::kInvalidInput, fmt::format("{}: {}", source_name, words_of(error)),
                "the file is damaged or no JSON; write it again");
  }
}

JsonDocument::~JsonDocument() = default;

JsonValue JsonDocument::root() const { return {this, &impl_->root}; }

void JsonDocument::check_header(std::string_view what, int version) const {
  const JsonValue tag = root().at("ringside");
  if (const std::string found = tag.text(); found != what) {
    tag.fault(fmt::format("this is a '{}', not a '{}'", found, what));
  }
  const JsonValue field = root().at("version");
  const std::int64_t found = field.integer(std::numeric_limits<std::int64_t>::min(),
                                           std::numeric_limits<std::int64_t>::max());
  if (found != version) {
    field.fault(
        fmt::format("the file has version {}, this program reads version {}", found, version));
  }
}

void JsonValue::fault(std::string_view what) const {
  constexpr int kDepth = 8;
  const JsonDocument::Impl& document = *document_->impl_;
  std::string place;
  find_place(document.root, value_, kDepth, place);
  throw Error(ErrorKind::kInvalidInput, fmt::format("{}: {}{}{}", document.source_name, place,
                                                    place.empty() ? "" : ": ", what));
}

std::string JsonValue::text() const {
  const json& value = json_of(value_);
  if (!value.is_string()) fault(fmt::format("must be a string, not {}", value.type_name()));
  return value.get<std::string>();
}

std::int64_t JsonValue::integer(std::int64_t least, std::int64_t most) const {
  const json& value = json_of(value_);
  if (!value.is_number_integer()) {
    fault(fmt::format("must be a whole number, not {}",
                      value.is_number() ? value.dump() : value.type_name()));
  }
  const bool too_large = value.is_number_unsigned() &&
                         value.get<std::uint64_t>() >
                             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (too_large || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
    fault(fmt::format("{} must be from {} to {}", value.dump(), least, most));
  }
  return value.get<std::int64_t>();
}

int JsonValue::small_integer(int least, int most) const {
  return static_cast<int>(integer(least, most));
}

std::size_t JsonValue::size(std::size_t most) const {
  const json& value = json_of(value_);
  if (!value.is_number_unsigned()) {
    fault(fmt::format("must be a whole number from 0, not {}",
                      value.is_number() ? value.dump() : value.type_name()));
  }
  const auto result = value.get<std::size_t>();
  if (result > most) fault(fmt::format("{} must be at most {}", result, most));
  return result;
}

double JsonValue::number() const {
  const json& value = json_of(value_);
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  fault(R"(must be a number, "nan", "inf" or "-inf")");
}

double JsonValue::finite_number() const {
  const double result = number();
  if (!std::isfinite(result)) fault("must be a finite number");
  return result;
}

std::uint64_t JsonValue::hexadecimal() const {
  const std::string digits = text();
  std::uint64_t result = 0;
  const char* const end = digits.data() + digits.size();
  if (digits.size() == 18 && digits.starts_with("0x") &&
      std::from_chars(digits.data() + 2, end, result, 16).ptr == end) {
    return result;
  }
  fault("must be \"0x\" and 16 hexadecimal digits");
}

std::size_t JsonValue::length() const {
  const json& value = json_of(value_);
  if (!value.is_array()) fault(fmt::format("must be an array, not {}", value.type_name()));
  return value.size();
}

JsonValue JsonValue::operator[](std::size_t index) const {
  return {document_, &json_of(value_)[index]};
}

void JsonValue::allow_only(std::initializer_list<std::string_view> fields) const {
  const json& value = json_of(value_);
  if (!value.is_object()) fault(fmt::format("must be an object, not {}", value.type_name()));
  if (const auto& name = value.get_ref<const json::object_t&>().repeated()) {
    fault(fmt::format("field '{}' stands there twice; leave one of them out", *name));
  }
  for (const auto& field : value.items()) {
    if (std::find(fields.begin(), fields.end(), field.key()) == fields.end()) {
      fault(fmt::format("unknown field '{}'; known are {}", field.key(), fmt::join(fields, ", ")));
    }
  }
}

JsonValue JsonValue::at(std::string_view field) const {
  const std::optional<JsonValue> found = find(field);
  if (!found) fault(fmt::format("field '{}' is missing", field));
  return *found;
}

std::optional<JsonValue> JsonValue::find(std::string_view field) const {
  const json& value = json_of(value_);
  if (!value.is_object()) fault(fmt::format("must be an object, not {}", value.type_name()));
  const auto found = value.find(field);
  if (found == value.end()) return std::nullopt;
  return JsonValue(document_, &*found);
}

}  // namespace ringside
