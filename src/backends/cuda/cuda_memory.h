// The memory of one GPU: CUDA's stream-ordered pool, used from a stream of its own.
//
// Storage is released only when no launch that uses it is in flight (cuda_stream.h), so that the
// memory stream never waits for work, and what it has allocated may be used on every stream at
// once. Threads: any.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>

#include "ringside/device.h"

namespace ringside::cuda {

class Memory : public std::enable_shared_from_this<Memory> {
 public:
  /// `index` of the GPU. GPUs with a direct link get access to its pool: NCCL reads the buffers of
  /// another GPU of the same process directly.
  explicit Memory(int index);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Throws Error(kOutOfMemory) when the GPU has not as much. The storage may outlive the device.
  std::shared_ptr<Storage> allocate(std::size_t bytes);

 private:
  int index_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace ringside::cuda
