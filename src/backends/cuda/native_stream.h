// The CUDA stream of a launch.
#pragma once

#include <cuda_runtime.h>

#include "ringside/device.h"

namespace ringside::cuda {

inline cudaStream_t stream_of(const LaunchContext& context) {
  return static_cast<cudaStream_t>(context.native_stream);
}

}  // namespace ringside::cuda
