// Scratch of one launch from the stream-ordered allocator: taken and given back in stream order, so
// that nothing waits.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "backends/cuda/check.h"

namespace ringside::cuda {

class StreamWorkspace {
 public:
  StreamWorkspace(cudaStream_t stream, std::size_t bytes) : stream_(stream) {
    if (bytes > 0) RINGSIDE_CUDA_CHECK(cudaMallocAsync(&data_, bytes, stream));
  }
  // What was enqueued before still finds it.
  ~StreamWorkspace() {
    if (data_ != nullptr) static_cast<void>(cudaFreeAsync(data_, stream_));
  }
  StreamWorkspace(const StreamWorkspace&) = delete;
  StreamWorkspace& operator=(const StreamWorkspace&) = delete;

  template <typename T>
  T* data() const {
    return static_cast<T*>(data_);
  }

 private:
  cudaStream_t stream_;
  void* data_ = nullptr;
};

}  // namespace ringside::cuda
