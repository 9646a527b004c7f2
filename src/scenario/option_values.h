// What an option has in a scenario, as a value that is written in JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "ringside/scenario.h"

namespace ringside {

/// monostate: not given.
using OptionValue = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double,
                                 std::string, std::vector<std::int64_t>>;

inline OptionValue to_option_value(bool value) { return value; }
inline OptionValue to_option_value(int value) { return std::int64_t{value}; }
inline OptionValue to_option_value(std::int64_t value) { return value; }
inline OptionValue to_option_value(std::uint64_t value) { return value; }
inline OptionValue to_option_value(double value) { return value; }
inline OptionValue to_option_value(const std::string& value) { return value; }
inline OptionValue to_option_value(const std::optional<int>& value) {
  return value ? to_option_value(*value) : OptionValue();
}
template <typename Integer>
OptionValue to_option_value(const std::vector<Integer>& values) {
  return std::vector<std::int64_t>(values.begin(), values.end());
}
/// Of an enumeration, its name.
template <typename Enumeration>
requires std::is_enum_v<Enumeration> OptionValue to_option_value(Enumeration value) {
  return std::string(to_string(value));
}

}  // namespace ringside
