// What the entries of a header must be, by themselves and together.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "ringside/checkpoint.h"

namespace ringside {

/// The bytes of a tensor; none for a dtype that does not exist or a product that does not fit.
std::optional<std::size_t> bytes_of_shape(std::string_view dtype,
                                          std::span<const std::int64_t> shape);

/// Sorts the entries by place, and throws Error(kInvalidInput) that begins with `source_name`
/// unless they fill `data_bytes` without overlaps and holes and have the bytes of their shapes.
void check_entries(SafetensorsHeader& header, std::size_t data_bytes,
                   const std::string& source_name);

}  // namespace ringside
