// Embedding and its backward.
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"
#include "backends/cuda/value_report.cuh"

namespace ringside::cuda {
namespace {

/// A block a token. The row of an index that does not exist becomes zeros.
template <int N, typename T>
__global__ void embedding_kernel(T* y, const T* weight, const std::int64_t* indices,
                                 std::int64_t count, std::int64_t rows, std::int64_t width,
                                 ValueReporter reporter) {
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const std::int64_t index = indices[i];
    const bool exists = index >= 0 && index < rows;
    if (!exists && threadIdx.x == 0) {
      report_value(reporter, Checked::kEmbedding, i, index, rows);
    }
    for (std::int64_t j = threadIdx.x * std::int64_t{N}; j < width; j += blockDim.x * N) {
      store(y + i * width + j, exists ? load<N>(weight + index * width + j) : Pack<T, N>{});
    }
  }
}

/// A block a row of the table: it looks through all indices and adds, in ascending order, the
/// gradients of those that are its own. No row is written by two, so nothing must be atomic.
template <typename T>
__global__ void embedding_backward_kernel(T* dweight, const T* dy, const std::int64_t* indices,
                                          std::int64_t count, std::int64_t rows,
                                          std::int64_t width) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    T* sum = dweight + row * width;
    for (std::int64_t j = threadIdx.x; j < width; j += blockDim.x) sum[j] = T(0);
    for (std::int64_t first = 0; first < count; first += blockDim.x) {
      const std::int64_t own = first + threadIdx.x;
      if (__syncthreads_or(own < count && indices[own] == row) == 0) continue;
      const std::int64_t last = min(first + blockDim.x, count);
      for (std::int64_t i = first; i < last; ++i) {
        if (indices[i] != row) continue;
        for (std::int64_t j = threadIdx.x; j < width; j += blockDim.x) sum[j] += dy[i * width + j];
      }
    }
  }
}

}  // namespace

void CudaKernels::embedding(LaunchContext& context, const DeviceArray& y, const DeviceArray& weight,
                            const DeviceArray& indices) {
  constexpr unsigned kRowThreads = 64;
  if (y.count() == 0) return;
  visit_trainable(y.dtype, [&]<typename T>() {
    constexpr int kWidth = static_cast<int>(kVectorBytes / sizeof(T));
    const std::int64_t width = weight.shape[1];
    const bool vectors = width % kWidth == 0 && all_aligned({y.raw(), weight.raw()});
    const auto kernel = vectors ? embedding_kernel<kWidth, T> : embedding_kernel<1, T>;
    kernel<<<blocks_for_each(indices.count()), kRowThreads, 0, stream_of(context)>>>(
        y.data<T>(), weight.data<T>(), indices.data<std::int64_t>(),
        static_cast<std::int64_t>(indices.count()), weight.shape[0], width,
        value_check_.reporter());
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::embedding_backward(LaunchContext& context, const DeviceArray& dweight,
                                     const DeviceArray& dy, const DeviceArray& indices) {
  if (dweight.count() == 0) return;
  visit_trainable(dweight.dtype, [&]<typename T>() {
    embedding_backward_kernel<<<blocks_for_each(static_cast<std::size_t>(dweight.shape[0])),
                                kThreads, 0, stream_of(context)>>>(
        dweight.data<T>(), dy.data<T>(), indices.data<std::int64_t>(),
        static_cast<std::int64_t>(indices.count()), dweight.shape[0], dweight.shape[1]);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace ringside::cuda
