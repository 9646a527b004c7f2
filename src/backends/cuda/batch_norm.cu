// Batch normalisation per channel of [B,C] or [B,C,...].
#include "backends/cuda/channels.cuh"
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/floating.h"

namespace ringside::cuda {
namespace {

template <typename T>
struct BatchStatistics {
  T* mean;
  T* inverse_std;
  T* running_mean;
  T* running_variance;
};

template <typename T>
__global__ void __launch_bounds__(kChannelThreads)
    statistics_kernel(BatchStatistics<T> out, const T* x, Channels channels, double momentum,
                      double epsilon) {
  const std::int64_t c = blockIdx.x;
  const auto [mean, squares] = channel_statistics(x, channels, c);
  if (threadIdx.x != 0) return;
  const auto count = static_cast<double>(channels.per_channel());
  out.mean[c] = static_cast<T>(mean);
  out.inverse_std[c] = static_cast<T>(1 / sqrt(squares / count + epsilon));
  move_running(out.running_mean[c], mean, momentum);
  move_running(out.running_variance[c], squares / (count - 1), momentum);
}

/// 1 / sqrt(variance + epsilon) of the running variance.
template <typename T>
__device__ T inverse_deviation(T variance, double epsilon) {
  return static_cast<T>(1 / sqrt(static_cast<double>(variance) + epsilon));
}

/// A block a channel, which takes its factors once.
template <typename T>
__global__ void __launch_bounds__(kChannelThreads)
    evaluate_kernel(T* y, const T* x, const T* running_mean, const T* running_variance,
                    const T* weight, const T* bias, Channels channels, double epsilon) {
  const std::int64_t c = blockIdx.x;
  const T scale = inverse_deviation(running_variance[c], epsilon) * weight[c];
  const T shift = bias[c] - running_mean[c] * scale;
  for (std::int64_t i = threadIdx.x; i < channels.per_channel(); i += blockDim.x) {
    const std::int64_t place = channels.place(c, i);
    y[place] = x[place] * scale + shift;
  }
}

template <typename T>
struct Gradients {
  T* dx;
  T* dweight;
  T* dbias;
};

template <typename T>
struct Inputs {
  const T* dy;
  const T* x;
  const T* weight;
  const T* mean;
};

/// dx = weight * inverse_std * (dy - Σ dy / n - x̂ * Σ dy x̂ / n) for n values per channel.
template <typename T>
__global__ void __launch_bounds__(kChannelThreads)
    backward_kernel(Gradients<T> out, Inputs<T> in, const T* saved_inverse_std, Channels channels) {
  const std::int64_t c = blockIdx.x;
  const T mean = in.mean[c];
  const T inverse_std = saved_inverse_std[c];
  const auto [gradient, dot] = channel_gradient_sums(in.dy, in.x, channels, c, mean, inverse_std);
  if (threadIdx.x == 0) {
    out.dweight[c] = static_cast<T>(dot);
    out.dbias[c] = static_cast<T>(gradient);
  }
  const auto count = static_cast<double>(channels.per_channel());
  const T mean_gradient = static_cast<T>(gradient / count);
  const T mean_dot = static_cast<T>(dot / count);
  const T factor = in.weight[c] * inverse_std;
  for (std::int64_t i = threadIdx.x; i < channels.per_channel(); i += blockDim.x) {
    const std::int64_t place = channels.place(c, i);
    const T normalised = (in.x[place] - mean) * inverse_std;
    out.dx[place] = factor * (in.dy[place] - mean_gradient - normalised * mean_dot);
  }
}

template <typename T>
__global__ void __launch_bounds__(kChannelThreads)
    evaluate_backward_kernel(Gradients<T> out, Inputs<T> in, const T* running_variance,
                             Channels channels, double epsilon) {
  const std::int64_t c = blockIdx.x;
  const T inverse_std = inverse_deviation(running_variance[c], epsilon);
  const auto [gradient, dot] =
      channel_gradient_sums(in.dy, in.x, channels, c, in.mean[c], inverse_std);
  if (threadIdx.x == 0) {
    out.dweight[c] = static_cast<T>(dot);
    out.dbias[c] = static_cast<T>(gradient);
  }
  const T factor = in.weight[c] * inverse_std;
  for (std::int64_t i = threadIdx.x; i < channels.per_channel(); i += blockDim.x) {
    const std::int64_t place = channels.place(c, i);
    out.dx[place] = factor * in.dy[place];
  }
}

}  // namespace

// Two launches: the statistics need a block per channel, the elements the whole GPU.
void CudaKernels::batch_norm(LaunchContext& context, const DeviceArray& y,
                             const DeviceArray& saved_mean, const DeviceArray& saved_inverse_std,
                             const DeviceArray& running_mean, const DeviceArray& running_variance,
                             const DeviceArray& x, const DeviceArray& weight,
                             const DeviceArray& bias, double momentum, double epsilon) {
  const Channels channels(x.shape);
  if (channels.channels == 0) return;
  visit_trainable(x.dtype, [&]<typename T>() {
    const BatchStatistics<T> statistics{saved_mean.data<T>(), saved_inverse_std.data<T>(),
                                        running_mean.data<T>(), running_variance.data<T>()};
    statistics_kernel<<<channels.blocks(), kChannelThreads, 0, stream_of(context)>>>(
        statistics, x.data<T>(), channels, momentum, epsilon);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
  batch_norm_normalise(context, y, x, saved_mean, saved_inverse_std, weight, bias);
}

void CudaKernels::batch_norm_evaluate(LaunchContext& context, const DeviceArray& y,
                                      const DeviceArray& x, const DeviceArray& running_mean,
                                      const DeviceArray& running_variance,
                                      const DeviceArray& weight, const DeviceArray& bias,
                                      double epsilon) {
  const Channels channels(x.shape);
  if (x.count() == 0) return;
  visit_trainable(x.dtype, [&]<typename T>() {
    evaluate_kernel<<<channels.blocks(), kChannelThreads, 0, stream_of(context)>>>(
        y.data<T>(), x.data<T>(), running_mean.data<T>(), running_variance.data<T>(),
        weight.data<T>(), bias.data<T>(), channels, epsilon);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::batch_norm_backward(LaunchContext& context, const DeviceArray& dx,
                                      const DeviceArray& dweight, const DeviceArray& dbias,
                                      const DeviceArray& dy, const DeviceArray& x,
                                      const DeviceArray& weight, const DeviceArray& saved_mean,
                                      const DeviceArray& saved_inverse_std) {
  const Channels channels(x.shape);
  if (channels.channels == 0) return;
  visit_trainable(dx.dtype, [&]<typename T>() {
    backward_kernel<<<channels.blocks(), kChannelThreads, 0, stream_of(context)>>>(
        Gradients<T>{dx.data<T>(), dweight.data<T>(), dbias.data<T>()},
        Inputs<T>{dy.data<T>(), x.data<T>(), weight.data<T>(), saved_mean.data<T>()},
        static_cast<const T*>(saved_inverse_std.data<T>()), channels);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::batch_norm_evaluate_backward(LaunchContext& context, const DeviceArray& dx,
                                               const DeviceArray& dweight, const DeviceArray& dbias,
                                               const DeviceArray& dy, const DeviceArray& x,
                                               const DeviceArray& weight,
                                               const DeviceArray& running_mean,
                                               const DeviceArray& running_variance,
                                               double epsilon) {
  const Channels channels(x.shape);
  if (channels.channels == 0) return;
  visit_trainable(dx.dtype, [&]<typename T>() {
    evaluate_backward_kernel<<<channels.blocks(), kChannelThreads, 0, stream_of(context)>>>(
        Gradients<T>{dx.data<T>(), dweight.data<T>(), dbias.data<T>()},
        Inputs<T>{dy.data<T>(), x.data<T>(), weight.data<T>(), running_mean.data<T>()},
        static_cast<const T*>(running_variance.data<T>()), channels, epsilon);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace ringside::cuda
