// Batches in host memory, on their way to a device; used again and again.
//
// A staging buffer goes back to its pool when its last holder lets go: the loader, or the launch
// that copies from it, on whatever thread that runs. Threads: the pool may be used from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ringside/data.h"

namespace ringside {

struct Staging {
  std::int64_t rows = 0;
  std::vector<std::byte> inputs;  ///< rows of samples in the loader's dtype; of a text int64
  std::vector<std::int64_t> targets;
  std::size_t bytes() const { return inputs.size() + targets.size() * sizeof(std::int64_t); }
};

class StagingPool {
 public:
  StagingPool() : free_(std::make_shared<FreeList>()) {}
  /// A free buffer, or a new one; its contents are left from its last use.
  std::shared_ptr<Staging> take();
  /// Buffers made so far.
  std::size_t made() const;

 private:
  struct FreeList {
    std::mutex mutex;
    std::vector<std::unique_ptr<Staging>> buffers;
    std::size_t made = 0;
  };
  std::shared_ptr<FreeList> free_;  // outlives the pool as long as buffers are out
};

/// Fills `out` with the samples of `indices`; `dtype` is that of samples that are no text. Throws
/// Error(kInvalidArgument) for an index outside of the data set.
void read_batch(const Dataset& dataset, std::span<const std::int64_t> indices, DType dtype,
                Staging& out);

}  // namespace ringside
