// Enumerations and their names: one table serves printing, parsing and the list in the error
// message.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "ringside/error.h"

namespace ringside {

template <typename Enum, std::size_t N>
using NameTable = std::array<std::pair<Enum, std::string_view>, N>;

/// The name of `value`; every enumerator must be in the table.
template <typename Enum, std::size_t N>
constexpr std::string_view name_of(const NameTable<Enum, N>& table, Enum value) {
  for (const auto& [candidate, name] : table) {
    if (candidate == value) return name;
  }
  return "unknown";
}

/// The value named `name`. Throws Error(kInvalidArgument): "dtype 'half': must be one of float32,
/// ...".
template <typename Enum, std::size_t N>
Enum parse_name(const NameTable<Enum, N>& table, std::string_view what, std::string_view name) {
  for (const auto& [value, candidate] : table) {
    if (candidate == name) return value;
  }
  std::array<std::string_view, N> names;
  for (std::size_t i = 0; i < N; ++i) names[i] = table[i].second;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} '{}': must be one of {}", what, name, fmt::join(names, ", ")));
}

}  // namespace ringside
