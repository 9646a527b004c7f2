#include "trace/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ringside {

void JsonWriter::separate() {
  if (!first_) out_ += ',';
  if (new_line_) out_ += '\n';
  first_ = false;
  new_line_ = false;
}

void JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
}

void JsonWriter::close(char bracket) {
  if (new_line_) out_ += '\n';
  out_ += bracket;
  first_ = false;
  new_line_ = false;
}

void JsonWriter::key(std::string_view name) {
  text(name);
  out_ += ':';
  first_ = true;
}

void JsonWriter::text(std::string_view value) {
  separate();
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
  if (plain) {
    fmt::format_to(std::back_inserter(out_), "\"{}\"", value);
  } else {
    out_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void JsonWriter::number(double value) {
  if (std::isnan(value)) return text("nan");
  if (std::isinf(value)) return text(value > 0 ? "inf" : "-inf");
  separate();
  const bool minus_zero = value == 0 && std::signbit(value);
  out_ += minus_zero ? "-0.0" : fmt::format("{}", value);
}

void JsonWriter::hexadecimal(std::uint64_t value) {
  separate();
  fmt::format_to(std::back_inserter(out_), "\"0x{:016x}\"", value);
}

}  // namespace ringside
