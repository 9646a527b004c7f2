// The norm of many arrays, and clipping gradients with it: [torch/nn/utils/clip_grad.py].
#include "backends/cuda/array_groups.h"
#include "backends/cuda/blocks.cuh"
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"
#include "backends/cuda/workspace.h"

namespace ringside::cuda {
namespace {

constexpr unsigned kParts = 32;         // of an array: blocks that sum its squares
constexpr unsigned kWholeBlock = 1024;  // where one block must see everything

/// sums[array, part] = the squares of the part, which are those of block (part, array).
template <typename T>
__global__ void squares_kernel(double* sums, ArrayGroup<T> group) {
  const T* values = group.arrays[blockIdx.y];
  const std::int64_t count = group.counts[blockIdx.y];
  const std::int64_t length = (count + kParts - 1) / kParts;
  const std::int64_t first = min(blockIdx.x * length, count);
  const std::int64_t own = min(length, count - first);
  const double sum = block_sum_of(own, [&](std::int64_t i) {
    const double value = values[first + i];
    return value * value;
  });
  if (threadIdx.x == 0) sums[(group.first + blockIdx.y) * kParts + blockIdx.x] = sum;
}

/// Norms are rounded to the dtype one by one, as PyTorch's tensors of norms are.
template <typename T>
__global__ void __launch_bounds__(kWholeBlock)
    total_kernel(T* total, const double* sums, std::int64_t arrays) {
  const double squares = block_sum_of(arrays, [&](std::int64_t array) {
    double sum = 0;
    for (unsigned part = 0; part < kParts; ++part) sum += sums[array * kParts + part];
    const double norm = static_cast<T>(sqrt(sum));
    return norm * norm;
  });
  if (threadIdx.x == 0) *total = static_cast<T>(sqrt(squares));
}

template <typename T>
__global__ void shrink_kernel(ArrayGroup<T> group, const T* total, T max_norm) {
  T* gradient = group.arrays[blockIdx.y];
  const T wanted = max_norm / (*total + static_cast<T>(1e-6));
  const T times = wanted > T(1) ? T(1) : wanted;  // NaN stays NaN, as in PyTorch
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
       i < group.counts[blockIdx.y]; i += threads) {
    gradient[i] *= times;
  }
}

}  // namespace

void CudaKernels::total_norm(LaunchContext& context, const DeviceArray& total,
                             std::span<const DeviceArray> arrays) {
  const cudaStream_t stream = stream_of(context);
  visit_trainable(total.dtype, [&]<typename T>() {
    const StreamWorkspace workspace(stream, arrays.size() * kParts * sizeof(double));
    auto* sums = workspace.data<double>();
    for_each_group<T>(arrays, [&](const ArrayGroup<T>& group) {
      const dim3 grid(kParts, static_cast<unsigned>(group.number));
      squares_kernel<<<grid, kThreads, 0, stream>>>(sums, group);
      RINGSIDE_CUDA_CHECK(cudaGetLastError());
    });
    total_kernel<<<1, kWholeBlock, 0, stream>>>(total.data<T>(), sums,
                                                static_cast<std::int64_t>(arrays.size()));
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::clip_with_norm(LaunchContext& context, std::span<const DeviceArray> gradients,
                                 const DeviceArray& total, double max_norm) {
  const cudaStream_t stream = stream_of(context);
  visit_trainable(total.dtype, [&]<typename T>() {
    for_each_group<T>(gradients, [&](const ArrayGroup<T>& group) {
      const dim3 grid(kParts, static_cast<unsigned>(group.number));
      shrink_kernel<<<grid, kThreads, 0, stream>>>(group, static_cast<const T*>(total.data<T>()),
                                                   static_cast<T>(max_norm));
      RINGSIDE_CUDA_CHECK(cudaGetLastError());
    });
  });
}

}  // namespace ringside::cuda
