#include "checkpoint/header_reader.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/clean_text.h"
#include "ringside/error.h"

namespace ringside {
namespace {

constexpr std::size_t kMostNumbers = 64;  // dimensions of a tensor

/// Hears of what the parser reads, one value after the other. Where something is not of the
/// format's form it throws, which ends the parser.
class HeaderHandler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  HeaderHandler(SafetensorsHeader& header, const std::string& source_name)
      : header_(header), source_name_(source_name) {}

  bool null() { return refuse("null"); }
  bool boolean(bool /*value*/) { return refuse("true or false"); }
  bool number_float(number_float_t /*value*/, const string_t& text) {
    return refuse(fmt::format("the number {}", text));
  }
  bool binary(binary_t& /*value*/) { return refuse("bytes"); }
  bool number_integer(number_integer_t value) {
    return refuse(fmt::format("the number {}", value));
  }

  bool number_unsigned(number_unsigned_t value) {
    if (level_ != Level::kNumbers) return refuse(fmt::format("the number {}", value));
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return refuse(fmt::format("the number {}, which is too large", value));
    }
    if (numbers_.size() == kMostNumbers)
      fault(fmt::format("has more than {} numbers", kMostNumbers));
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(string_t& value) {
    if (level_ == Level::kMetadata) {
      if (!header_.metadata.emplace(key_, std::move(value)).second) fault("stands there twice");
      return true;
    }
    if (level_ != Level::kEntry || key_ != "dtype") return refuse("a text");
    entry_.dtype = std::move(value);
    return true;
  }

  bool start_object(std::size_t /*elements*/) {
    if (level_ == Level::kOutside) {
      level_ = Level::kTop;
    } else if (level_ == Level::kTop) {
      level_ = name_ == kMetadataName ? Level::kMetadata : Level::kEntry;
      entry_ = {};
      fields_.clear();
    } else {
      return refuse("an object");
    }
    return true;
  }

  bool key(string_t& text) {
    if (text.find('\0') != string_t::npos) {
      fail(fmt::format("a key of the header has a NUL: {}", shown_name(text)));
    }
    if (level_ == Level::kTop) {
      name_ = std::move(text);
      key_.clear();
      if (!names_.insert(name_).second) fault("stands there twice");
      return true;
    }
    key_ = std::move(text);
    if (level_ != Level::kEntry) return true;
    if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
      fault("is no field of a tensor, which has dtype, shape and data_offsets");
    }
    if (!fields_.insert(key_).second) fault("stands there twice");
    return true;
  }

  bool end_object() {
    if (level_ == Level::kTop) {
      level_ = Level::kOutside;
      return true;
    }
    if (level_ == Level::kEntry) finish_entry();
    level_ = Level::kTop;
    return true;
  }

  bool start_array(std::size_t /*elements*/) {
    if (level_ != Level::kEntry || key_ == "dtype") return refuse("a list");
    level_ = Level::kNumbers;
    numbers_.clear();
    return true;
  }

  bool end_array() {
    level_ = Level::kEntry;
    if (key_ == "shape") {
      entry_.shape = std::move(numbers_);
      return true;
    }
    if (numbers_.size() != 2) {
      fault(fmt::format("has {} numbers instead of a begin and an end", numbers_.size()));
    }
    entry_.begin = static_cast<std::size_t>(numbers_[0]);
    entry_.end = static_cast<std::size_t>(numbers_[1]);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::json::exception& error) {
    const std::string_view words = error.what();
    const bool bad_text = words.find("UTF-8") != std::string_view::npos;
    fail(fmt::format("byte {} of the header: {}", position,
                     bad_text ? "is not UTF-8" : "no JSON goes on like that"));
  }

 private:
  enum class Level { kOutside, kTop, kMetadata, kEntry, kNumbers };

  void finish_entry() {
    key_.clear();
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!fields_.contains(field)) fault(fmt::format("has no field '{}'", field));
    }
    entry_.name = std::move(name_);
    header_.entries.push_back(std::move(entry_));
  }

  bool refuse(const std::string& what) {
    if (level_ == Level::kOutside) fail(fmt::format("the header is {}, not an object", what));
    if (level_ == Level::kMetadata) fault(fmt::format("is {}, metadata are texts", what));
    if (level_ == Level::kTop) fault(fmt::format("is {}, not an object", what));
    const std::string_view wanted = key_ == "dtype" ? "a text" : "a list of whole numbers";
    fault(fmt::format("{} {}, must be {}", level_ == Level::kNumbers ? "has" : "is", what, wanted));
  }

  /// Of what is being read: "'0.weight'", "'0.weight', 'shape'".
  [[noreturn]] void fault(const std::string& what) const {
    const std::string name = shown_name(name_);
    fail(key_.empty() ? fmt::format("'{}' {}", name, what)
                      : fmt::format("'{}', '{}' {}", name, shown_name(key_), what));
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kInvalidInput, fmt::format("{}: {}", source_name_, what),
                "the file is damaged or not in the safetensors format; write it again");
  }

  SafetensorsHeader& header_;
  const std::string& source_name_;
  Level level_ = Level::kOutside;
  std::string name_;  // of the entry
  std::string key_;   // in the entry, or in the metadata
  SafetensorsEntry entry_;
  std::vector<std::int64_t> numbers_;
  std::set<std::string> fields_;
  std::unordered_set<std::string> names_;
};

}  // namespace

SafetensorsHeader read_header_json(std::string_view json, const std::string& source_name) {
  // The parser takes a NUL for the end, and would not look at what follows.
  if (const std::size_t at = json.find('\0'); at != std::string_view::npos) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: byte {} of the header is a NUL", source_name, at + 1),
                "the file is damaged or not in the safetensors format; write it again");
  }
  SafetensorsHeader header;
  HeaderHandler handler(header, source_name);
  nlohmann::json::sax_parse(json, &handler);
  return header;
}

}  // namespace ringside
