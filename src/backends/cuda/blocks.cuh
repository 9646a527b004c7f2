// Sums and maxima over the threads of a block or a warp.
//
// The order of additions is a tree that depends on the number of threads alone. Every thread gets
// the result.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace ringside::cuda {

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kWholeWarp = 0xffffffffU;

template <typename T>
__device__ T warp_sum(T value) {
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, static_cast<int>(apart));
  }
  return value;
}

/// The largest number; NaN counts only where there is nothing else.
template <typename T>
__device__ T warp_max(T value) {
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) {
    value = fmax(value, __shfl_xor_sync(kWholeWarp, value, static_cast<int>(apart)));
  }
  return value;
}

/// For blocks of whole warps. All threads must call it.
template <typename T>
__device__ T block_sum(T value) {
  __shared__ T of_warps[kWarp];
  const unsigned lane = threadIdx.x % kWarp;
  const unsigned warp = threadIdx.x / kWarp;
  value = warp_sum(value);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  value = warp_sum(lane < blockDim.x / kWarp ? of_warps[lane] : T(0));
  __syncthreads();  // the next sum writes to the same place
  return value;
}

template <typename T>
__device__ T block_max(T value) {
  __shared__ T of_warps[kWarp];
  const unsigned lane = threadIdx.x % kWarp;
  const unsigned warp = threadIdx.x / kWarp;
  value = warp_max(value);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  value = warp_max(lane < blockDim.x / kWarp ? of_warps[lane] : of_warps[0]);
  __syncthreads();
  return value;
}

/// The block's sum of value(i) for i in [0, count); thread t takes t, t + threads, ...
template <typename Value>
__device__ double block_sum_of(std::int64_t count, const Value& value) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += value(i);
  return block_sum(sum);
}

}  // namespace ringside::cuda
