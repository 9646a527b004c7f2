// An array cut along one of its dimensions: what lies before that dimension counts the strips, what
// lies behind it makes their width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringside/dtype.h"

namespace ringside {

struct Strips {
  std::size_t outer = 1;    ///< strips
  std::size_t inner_bytes;  ///< of a strip, per index of the dimension

  /// `dim` counts from the front and exists.
  Strips(const Shape& shape, std::int64_t dim, DType dtype) : inner_bytes(size_of(dtype)) {
    const auto sizes = shape.sizes();
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const auto size = static_cast<std::size_t>(sizes[d]);
      if (static_cast<std::int64_t>(d) < dim) outer *= size;
      if (static_cast<std::int64_t>(d) > dim) inner_bytes *= size;
    }
  }
};

}  // namespace ringside
