// The two loops around a bias.
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"

namespace ringside::cuda {
namespace {

template <typename T>
struct AddBias {
  T* y;
  const T* bias;
  std::size_t columns;
  template <int N>
  __device__ void at(std::size_t i) const {
    auto values = load<N>(y + i);
    std::size_t column = i % columns;
    for (int n = 0; n < N; ++n) {
      values[n] += bias[column];
      if (++column == columns) column = 0;
    }
    store(y + i, values);
  }
};

/// A thread a column, so that the rows are added in ascending order as on the CPU, and neighbours
/// read neighbours.
template <typename T>
__global__ void sum_rows_kernel(T* out, const T* x, std::size_t rows, std::size_t columns) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t j = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; j < columns;
       j += threads) {
    T sum = 0;
#pragma unroll 8
    for (std::size_t i = 0; i < rows; ++i) sum += x[i * columns + j];
    out[j] = sum;
  }
}

}  // namespace

void CudaKernels::add_bias(LaunchContext& context, const DeviceArray& y, const DeviceArray& bias) {
  visit_trainable(y.dtype, [&]<typename T>() {
    const AddBias<T> body{y.data<T>(), bias.data<T>(), bias.count()};
    for_elements<T>(context, y.count(), {body.y}, body);
  });
}

void CudaKernels::sum_rows(LaunchContext& context, const DeviceArray& out, const DeviceArray& x) {
  const std::size_t columns = out.count();
  if (columns == 0) return;
  visit_trainable(out.dtype, [&]<typename T>() {
    // Small blocks, so that few columns still spread over the GPU.
    constexpr std::size_t kColumns = 64;
    const auto blocks = static_cast<unsigned>((columns + kColumns - 1) / kColumns);
    sum_rows_kernel<<<blocks, kColumns, 0, stream_of(context)>>>(out.data<T>(), x.data<T>(),
                                                                 x.count() / columns, columns);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace ringside::cuda
