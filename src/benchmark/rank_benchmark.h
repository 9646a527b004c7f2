// One rank's part of a benchmark: its buffers, its calls, its clock, and its share of the check.
//
// Threads: the rank's own.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "benchmark/measure.h"
#include "benchmark/pattern.h"
#include "ringside/world.h"

namespace ringside::benchmark {

class RankBenchmark {
 public:
  /// Allocates buffers for the largest size. Collective over all ranks. Throws Error(kOutOfMemory).
  RankBenchmark(Rank& rank, const Request& request, const Pattern& pattern);

  /// Times calls of one size and verifies one. Collective; the result is the same on every rank.
  Measurement measure(const Extent& extent, bool in_place);

 private:
  /// Elements that a rank has in its two buffers for `count`.
  struct Sizes {
    std::size_t send = 0;
    std::size_t recv = 0;
  };
  using Bytes = std::vector<std::byte>;

  Sizes sizes_for(std::size_t count) const;
  void check_host_memory(const Sizes& largest);
  CollectiveCall make_call(std::size_t count, bool in_place) const;
  void enqueue(const CollectiveCall& call);
  void enqueue_many(const CollectiveCall& call, int times);
  void fill(const DeviceArray& array, const std::shared_ptr<const Bytes>& block);
  /// Puts the rank's numbers where they are sent from, and nonsense where results will be.
  void prepare(const CollectiveCall& call);
  std::size_t wrong_elements(const DeviceArray& result, std::size_t count);
  std::size_t wrong_elements(const DeviceArray& part, const ExpectedPart& expected);
  template <typename T>
  std::vector<T> over_ranks(std::vector<T> values, ReduceOp op);

  Rank& rank_;
  const Request& request_;
  const Pattern& pattern_;
  Stream& stream_;
  std::size_t block_elements_;
  std::shared_ptr<const Bytes> contribution_;  // of block_elements_ elements
  std::shared_ptr<const Bytes> unwritten_;     // likewise
  Buffer send_;
  Buffer recv_;
};

}  // namespace ringside::benchmark
