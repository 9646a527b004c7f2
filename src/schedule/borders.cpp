#include "schedule/borders.h"

#include <algorithm>

namespace ringside {
namespace {

std::size_t divide_up(std::size_t value, std::size_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return divide_up(value, multiple) * multiple;
}

// NCCL's last (and here: only) loop [src/enqueue.cc, calcCollChunking].
std::size_t nccl_chunk(std::size_t elements, std::size_t ranks, DType dtype) {
  return round_up(divide_up(elements, ranks), 16 / size_of(dtype));
}

// gloo cuts into segments of bytes: two per rank, more where one would be above 1 MiB, equally many
// for each rank, and then all of them equally long [gloo/allreduce.cc, ring()]. Compared with what
// PyTorch 1.13.1 computes on 3 to 5 ranks, up to 20 MB.
std::size_t gloo_chunk(std::size_t elements, std::size_t ranks, DType dtype) {
  const std::size_t size = size_of(dtype);
  const std::size_t bytes = elements * size;
  if (bytes == 0) return 0;
  constexpr std::size_t kLargestSegment = std::size_t{1} << 20;
  const std::size_t segments =
      round_up(std::max(divide_up(bytes, kLargestSegment), 2 * ranks), ranks);
  const std::size_t segment = round_up(divide_up(bytes, segments), size);
  return segments / ranks * segment / size;
}

}  // namespace

namespace schedule {

Range even_part(std::size_t elements, int parts, int part) {
  const auto count = static_cast<std::size_t>(parts);
  const auto index = static_cast<std::size_t>(part);
  const std::size_t length = elements / count;
  const std::size_t longer = elements % count;
  const std::size_t begin = index * length + std::min(index, longer);
  return {begin, begin + length + (index < longer ? 1 : 0)};
}

std::vector<Range> even_parts(Range range, int parts) {
  std::vector<Range> result;
  result.reserve(static_cast<std::size_t>(parts));
  for (int part = 0; part < parts; ++part) {
    const Range inside = even_part(range.size(), parts, part);
    result.push_back({range.begin + inside.begin, range.begin + inside.end});
  }
  return result;
}

std::vector<Range> ring_chunks(std::size_t elements, int ranks, Border border, DType dtype) {
  std::vector<Range> chunks;
  chunks.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    chunks.push_back(ring_chunk(elements, ranks, rank, border, dtype));
  }
  return chunks;
}

}  // namespace schedule

Range ring_chunk(std::size_t elements, int ranks, int rank, Border border, DType dtype) {
  if (border == Border::kEven) return schedule::even_part(elements, ranks, rank);
  const auto count = static_cast<std::size_t>(ranks);
  const std::size_t length = border == Border::kNccl ? nccl_chunk(elements, count, dtype)
                                                     : gloo_chunk(elements, count, dtype);
  const std::size_t begin = std::min(static_cast<std::size_t>(rank) * length, elements);
  return {begin, std::min(begin + length, elements)};
}

}  // namespace ringside
