// The numbers that ranks bring in, and what an operation must make of them.
//
// Small whole numbers, so that sums and products of all ranks are exact in every dtype whatever
// their order; only the average of floats is rounded. They repeat after a prime number of elements:
// what repeats can be compared as fast as memory is read, and as no block or chunk is a multiple of
// the period, data in a wrong place is seen.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::benchmark {

/// Values for one period; element i has value[i mod kPeriod].
using Period = std::vector<double>;
inline constexpr std::size_t kPeriod = 1021;

/// One stretch of a rank's result: `count` elements that are the values of `values` from element
/// `first` on.
struct ExpectedPart {
  const Period* values = nullptr;  ///< of the Pattern
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Threads: constant, so any.
class Pattern {
 public:
  /// `op` counts where the operation combines. A pair is every rank's message to the next.
  Pattern(Operation operation, DType dtype, ReduceOp op, int root, int ranks);

  /// What `rank` sends.
  const Period& contribution(int rank) const {
    return contributions_[static_cast<std::size_t>(rank)];
  }
  /// What `rank` must find in its receive buffer, from the first element to the last; empty where
  /// it receives nothing.
  std::vector<ExpectedPart> expected(int rank, std::size_t count) const;
  /// By how much a result may differ.
  double tolerance() const { return tolerance_; }

 private:
  Operation operation_;
  int root_;
  int ranks_;
  double tolerance_ = 0;
  std::vector<Period> contributions_;  // per rank
  Period combined_;
};

/// The values as elements of `dtype`, `periods` times.
std::vector<std::byte> elements_of(const Period& values, DType dtype, std::size_t periods);

/// How many of `elements` differ by more than `tolerance` (or are no numbers) from the period's
/// values, the first of them from element `first` of it.
std::size_t count_wrong(std::span<const std::byte> elements, DType dtype, const Period& values,
                        std::size_t first, double tolerance);

}  // namespace ringside::benchmark
