// Where a buffer is cut.
#pragma once

#include <cstddef>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// Part `part` of `elements` cut into `parts` as equal as possible, the first ones longer.
Range even_part(std::size_t elements, int parts, int part);

/// All parts of `range`.
std::vector<Range> even_parts(Range range, int parts);
/// ring_chunk() of every rank.
std::vector<Range> ring_chunks(std::size_t elements, int ranks, Border border, DType dtype);

}  // namespace ringside::schedule
