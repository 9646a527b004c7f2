// Kernels as host functions that enqueue them: what nvcc compiles and what it calls meet here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "ringside/dtype.h"

namespace ringside::cuda {

/// Sets `count` > 0 elements to `value`, rounded to the dtype.
cudaError_t launch_fill(cudaStream_t stream, void* out, std::size_t count, DType dtype,
                        double value);

}  // namespace ringside::cuda
