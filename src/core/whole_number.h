// Whole numbers as people and files write them, where the caller has its own words for what is
// wrong.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ringside {

/// The number that `text` is, from its first to its last character; nothing if it is none or does
/// not fit.
template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace ringside
