// The only macros of Ringside: they put the call's own text and place into its error.
//
// A failed call is an Error(kDevice) with the device that is current, the call, where it stands,
// and what CUDA or NCCL says of it. Threads: any.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

namespace ringside::cuda {

[[noreturn]] void throw_cuda_error(cudaError_t error, const char* call, const char* file, int line);
[[noreturn]] void throw_nccl_error(ncclResult_t result, const char* call, const char* file,
                                   int line);

/// Forgets an error that is not sticky, so that the next call of another part does not report it.
inline void clear_cuda_error() { static_cast<void>(cudaGetLastError()); }

}  // namespace ringside::cuda

#define RINGSIDE_CUDA_CHECK(call)                                                    \
  do {                                                                               \
    const cudaError_t ringside_error = (call);                                       \
    if (ringside_error != cudaSuccess) {                                             \
      ::ringside::cuda::throw_cuda_error(ringside_error, #call, __FILE__, __LINE__); \
    }                                                                                \
  } while (false)

#define RINGSIDE_NCCL_CHECK(call)                                                     \
  do {                                                                                \
    const ncclResult_t ringside_result = (call);                                      \
    if (ringside_result != ncclSuccess) {                                             \
      ::ringside::cuda::throw_nccl_error(ringside_result, #call, __FILE__, __LINE__); \
    }                                                                                 \
  } while (false)
