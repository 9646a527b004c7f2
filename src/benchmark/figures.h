// The arithmetic of nccl-tests: which sizes are measured, what a size means for an operation, and
// the factor between its two bandwidths. [nccl-tests doc/PERFORMANCE.md, src/common.cu and
// src/*.cu]
#pragma once

#include <cstddef>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::benchmark {

struct SizeRange {
  std::size_t begin = 8;                     ///< bytes
  std::size_t end = std::size_t{64} << 20U;  ///< the last one is at most this
  std::size_t factor = 2;                    ///< each size is the one before times this,
  std::size_t step = 0;                      ///< or, where it is not 0, plus this many bytes
};

/// More are no table that anybody reads.
inline constexpr std::size_t kMaxSizes = 10'000;
/// Of one size; sums over many ranks still fit.
inline constexpr std::size_t kMaxBytes = std::size_t{1} << 44U;

/// begin, begin * factor, ... (or begin + step, ...) up to end. Throws Error(kInvalidArgument) that
/// begins with the field's name: sizes of 0 bytes, an end before the begin, a factor below 2, more
/// than kMaxSizes sizes, or larger ones than kMaxBytes.
std::vector<std::size_t> sizes_of(const SizeRange& range);

/// One size, as an operation takes it.
struct Extent {
  std::size_t count = 0;  ///< elements in NCCL's meaning (schedule.h)
  /// of the larger buffer of a rank: nccl-tests' column "size", the S of its bandwidths
  std::size_t bytes = 0;
};

/// What `bytes` are cut down to: whole elements, and where every rank has a block, blocks of equal
/// size that are multiples of 16 bytes. A pair is every rank's message to the next.
Extent extent_of(Operation operation, DType dtype, int ranks, std::size_t bytes);

/// Bus bandwidth / algorithm bandwidth, chosen so that the best algorithm on links of rate B has a
/// bus bandwidth of B whatever the number of ranks is. Barriers have none: 0.
double bus_factor(Operation operation, int ranks);

}  // namespace ringside::benchmark
