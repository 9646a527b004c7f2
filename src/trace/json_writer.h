// Writes JSON in one fixed form: no spaces, fields in the order they are written, line breaks where
// the caller wants them, doubles in their shortest form that reads back the same.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ringside {

class JsonWriter {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);
  /// The next element, or the closing bracket, begins a new line.
  void new_line() { new_line_ = true; }

  /// Bytes that are not UTF-8 are written as U+FFFD.
  void text(std::string_view value);
  void integer(std::integral auto value) {
    separate();
    out_ += std::to_string(value);
  }
  /// NaN and infinities as the strings "nan", "inf", "-inf"; -0 as -0.0.
  void number(double value);
  void hexadecimal(std::uint64_t value);

  void field(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void field(std::string_view name, double value) {
    key(name);
    number(value);
  }
  void field(std::string_view name, std::integral auto value) {
    key(name);
    integer(value);
  }
  template <typename Range>
  void integers(std::string_view name, const Range& values) {
    key(name);
    begin_array();
    for (const auto value : values) integer(value);
    end_array();
  }

  /// What was written. The writer is empty then.
  std::string take() { return std::move(out_); }

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);

  std::string out_;
  bool first_ = true;  // in its array or object, or directly after a key
  bool new_line_ = false;
};

}  // namespace ringside
