// Layer normalisation of rows. Statistics and row sums are taken in float64 whatever the dtype; the
// gradients of weight and bias sum the rows in ascending order, as on the CPU.
#include "backends/cuda/blocks.cuh"
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"

namespace ringside::cuda {
namespace {

constexpr unsigned kRowThreads = 128;    // of the block of a row
constexpr unsigned kColumnThreads = 64;  // small, so that few columns still spread over the GPU

template <typename T>
struct RowStatistics {
  T* mean;
  T* inverse_std;
};

template <typename T>
__global__ void layer_norm_kernel(T* y, RowStatistics<T> saved, const T* x, const T* weight,
                                  const T* bias, std::int64_t rows, std::int64_t width,
                                  double epsilon) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* in = x + r * width;
    T* out = y + r * width;
    const double mean = block_sum_of(width, [in](std::int64_t j) -> double { return in[j]; }) /
                        static_cast<double>(width);
    const double squares = block_sum_of(width, [in, mean](std::int64_t j) {
      const double deviation = in[j] - mean;
      return deviation * deviation;
    });
    const T center = static_cast<T>(mean);
    const T inverse_std = static_cast<T>(1 / sqrt(squares / static_cast<double>(width) + epsilon));
    if (threadIdx.x == 0) {
      saved.mean[r] = center;
      saved.inverse_std[r] = inverse_std;
    }
    for (std::int64_t j = threadIdx.x; j < width; j += blockDim.x) {
      out[j] = (in[j] - center) * inverse_std * weight[j] + bias[j];
    }
  }
}

/// With g = dy * weight and x̂ = (x - mean) * inverse_std:
/// dx = inverse_std * (g - mean of g - x̂ * mean of g x̂), means over the row.
template <typename T>
__global__ void input_gradient_kernel(T* dx, const T* dy, const T* x, const T* weight,
                                      RowStatistics<const T> saved, std::int64_t rows,
                                      std::int64_t width) {
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* in = x + r * width;
    const T* gradient = dy + r * width;
    const T mean = saved.mean[r];
    const T inverse_std = saved.inverse_std[r];
    const auto normalised = [&](std::int64_t j) { return (in[j] - mean) * inverse_std; };
    const double sum =
        block_sum_of(width, [&](std::int64_t j) -> double { return gradient[j] * weight[j]; });
    const double dot = block_sum_of(
        width, [&](std::int64_t j) -> double { return gradient[j] * weight[j] * normalised(j); });
    const T mean_gradient = static_cast<T>(sum / static_cast<double>(width));
    const T mean_dot = static_cast<T>(dot / static_cast<double>(width));
    for (std::int64_t j = threadIdx.x; j < width; j += blockDim.x) {
      dx[r * width + j] =
          inverse_std * (gradient[j] * weight[j] - mean_gradient - normalised(j) * mean_dot);
    }
  }
}

/// A thread a column.
template <typename T>
__global__ void parameter_gradients_kernel(T* dweight, T* dbias, const T* dy, const T* x,
                                           RowStatistics<const T> saved, std::int64_t rows,
                                           std::int64_t width) {
  const std::int64_t j = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (j >= width) return;
  T of_weight = 0;
  T of_bias = 0;
#pragma unroll 8
  for (std::int64_t r = 0; r < rows; ++r) {
    const T gradient = dy[r * width + j];
    of_weight += gradient * ((x[r * width + j] - saved.mean[r]) * saved.inverse_std[r]);
    of_bias += gradient;
  }
  dweight[j] = of_weight;
  dbias[j] = of_bias;
}

}  // namespace

void CudaKernels::layer_norm(LaunchContext& context, const DeviceArray& y,
                             const DeviceArray& saved_mean, const DeviceArray& saved_inverse_std,
                             const DeviceArray& x, const DeviceArray& weight,
                             const DeviceArray& bias, double epsilon) {
  const auto rows = static_cast<std::int64_t>(saved_mean.count());
  if (rows == 0) return;
  visit_trainable(x.dtype, [&]<typename T>() {
    layer_norm_kernel<<<blocks_for_each(saved_mean.count()), kRowThreads, 0, stream_of(context)>>>(
        y.data<T>(), RowStatistics<T>{saved_mean.data<T>(), saved_inverse_std.data<T>()},
        x.data<T>(), weight.data<T>(), bias.data<T>(), rows,
        static_cast<std::int64_t>(weight.count()), epsilon);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::layer_norm_backward(LaunchContext& context, const DeviceArray& dx,
                                      const DeviceArray& dweight, const DeviceArray& dbias,
                                      const DeviceArray& dy, const DeviceArray& x,
                                      const DeviceArray& weight, const DeviceArray& saved_mean,
                                      const DeviceArray& saved_inverse_std) {
  const auto rows = static_cast<std::int64_t>(saved_mean.count());
  const auto width = static_cast<std::int64_t>(weight.count());
  if (width == 0) return;
  visit_trainable(dx.dtype, [&]<typename T>() {
    const RowStatistics<const T> saved{saved_mean.data<T>(), saved_inverse_std.data<T>()};
    const T* gradient = dy.data<T>();
    const T* in = x.data<T>();
    input_gradient_kernel<<<blocks_for_each(saved_mean.count()), kRowThreads, 0,
                            stream_of(context)>>>(dx.data<T>(), gradient, in, weight.data<T>(),
                                                  saved, rows, width);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
    const auto blocks = static_cast<unsigned>((width + kColumnThreads - 1) / kColumnThreads);
    parameter_gradients_kernel<<<blocks, kColumnThreads, 0, stream_of(context)>>>(
        dweight.data<T>(), dbias.data<T>(), gradient, in, saved, rows, width);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace ringside::cuda
