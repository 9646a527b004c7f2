// A loop over elements: 16 bytes a thread and access where the arrays allow it.
//
// Products and sums are not contracted (--fmad=false), as on the CPU, so that what is computed
// element by element has the same bits on both.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <initializer_list>

#include "backends/cuda/check.h"
#include "backends/cuda/launch_geometry.h"
#include "backends/cuda/native_stream.h"

namespace ringside::cuda {

/// N elements that one instruction reads or writes.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T values[N];
  __device__ T& operator[](int n) { return values[n]; }
  __device__ const T& operator[](int n) const { return values[n]; }
};

template <int N, typename T>
__device__ Pack<T, N> load(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

template <int N, typename T>
__device__ void store(T* to, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

template <int N, typename Body>
__global__ void __launch_bounds__(kThreads) elements_kernel(std::size_t count, Body body) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t self = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t packs = count / N;
  for (std::size_t i = self; i < packs; i += threads) body.template at<N>(i * N);
  if constexpr (N > 1) {
    const std::size_t i = packs * N + self;
    if (i < count) body.template at<1>(i);
  }
}

/// Runs body.at<N>(i) for the elements i to i + N - 1, for all of `count`; N is the number of
/// `Widest` in 16 bytes, or 1. `arrays` are all that the body reads and writes at i.
template <typename Widest, typename Body>
void for_elements(const LaunchContext& context, std::size_t count,
                  std::initializer_list<const void*> arrays, const Body& body) {
  if (count == 0) return;
  constexpr int kWidth = static_cast<int>(kVectorBytes / sizeof(Widest));
  const cudaStream_t stream = stream_of(context);
  if (vector_width<Widest>(arrays) == 1) {
    elements_kernel<1><<<blocks_for(count), kThreads, 0, stream>>>(count, body);
  } else {
    elements_kernel<kWidth><<<blocks_for(count / kWidth), kThreads, 0, stream>>>(count, body);
  }
  RINGSIDE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace ringside::cuda
