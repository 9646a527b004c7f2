// Batch normalisation over several ranks, in parts.
#include "backends/cuda/channels.cuh"
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/floating.h"

namespace ringside::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kChannelThreads)
    rank_statistics_kernel(T* out, const T* x, Channels channels) {
  const std::int64_t c = blockIdx.x;
  const std::int64_t count = channels.per_channel();
  const auto [mean, squares] = channel_statistics(x, channels, c);
  if (threadIdx.x != 0) return;
  out[c] = static_cast<T>(count > 0 ? mean : 0);
  out[channels.channels + c] = static_cast<T>(squares);
  if (c == 0) out[2 * channels.channels] = static_cast<T>(static_cast<double>(count));
}

template <typename T>
struct Merged {
  T* mean;
  T* inverse_std;
  T* count;
  T* running_mean;
  T* running_variance;
};

/// Chan, Golub and LeVeque's formula, a thread a channel: Σ (x - mean)² = Σ of the ranks' own + n
/// (own mean - mean)².
template <typename T>
__global__ void merge_kernel(Merged<T> out, const T* statistics, std::int64_t ranks,
                             std::int64_t channels, double momentum, double epsilon) {
  const std::int64_t c = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (c >= channels) return;
  const auto of = [&](std::int64_t rank, std::int64_t place) {
    return static_cast<double>(statistics[rank * (2 * channels + 1) + place]);
  };
  double values = 0;
  double sum = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    values += of(rank, 2 * channels);
    sum += of(rank, c) * of(rank, 2 * channels);
  }
  const double middle = sum / values;
  double squares = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const double apart = of(rank, c) - middle;
    squares += of(rank, channels + c) + of(rank, 2 * channels) * apart * apart;
  }
  if (c == 0) out.count[0] = static_cast<T>(values);
  out.mean[c] = static_cast<T>(middle);
  out.inverse_std[c] = static_cast<T>(1 / sqrt(squares / values + epsilon));
  move_running(out.running_mean[c], middle, momentum);
  move_running(out.running_variance[c], squares / (values - 1), momentum);
}

template <typename T>
__global__ void __launch_bounds__(kChannelThreads)
    backward_sums_kernel(T* sums, const T* dy, const T* x, const T* mean, const T* inverse_std,
                         Channels channels) {
  const std::int64_t c = blockIdx.x;
  const auto [gradient, dot] = channel_gradient_sums(dy, x, channels, c, mean[c], inverse_std[c]);
  if (threadIdx.x != 0) return;
  sums[c] = static_cast<T>(gradient);
  sums[channels.channels + c] = static_cast<T>(dot);
}

/// dx = weight * inverse_std * (dy - Σ dy / count - x̂ Σ dy x̂ / count), in float64.
template <typename T>
struct BackwardElements {
  T* dx;
  const T* dy;
  const T* x;
  const T* weight;
  const T* mean;
  const T* inverse_std;
  const T* sums;
  const T* count;
  Channels channels;
  template <int N>
  __device__ void at(std::size_t i) const {
    const auto gradient = load<N>(dy + i);
    auto values = load<N>(x + i);
    const auto number = static_cast<double>(count[0]);
    for (int n = 0; n < N; ++n) {
      const std::int64_t c = channels.of_element(i + n);
      const double deviation = inverse_std[c];
      const double normal = (static_cast<double>(values[n]) - mean[c]) * deviation;
      const double centred = static_cast<double>(gradient[n]) - sums[c] / number -
                             normal * sums[channels.channels + c] / number;
      values[n] = static_cast<T>(weight[c] * deviation * centred);
    }
    store(dx + i, values);
  }
};

}  // namespace

void CudaKernels::batch_norm_statistics(LaunchContext& context, const DeviceArray& out,
                                        const DeviceArray& x) {
  const Channels channels(x.shape);
  if (channels.channels == 0) return;
  visit_trainable(x.dtype, [&]<typename T>() {
    rank_statistics_kernel<<<channels.blocks(), kChannelThreads, 0, stream_of(context)>>>(
        out.data<T>(), static_cast<const T*>(x.data<T>()), channels);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::batch_norm_merge(LaunchContext& context, const DeviceArray& mean,
                                   const DeviceArray& inverse_std, const DeviceArray& count,
                                   const DeviceArray& running_mean,
                                   const DeviceArray& running_variance,
                                   const DeviceArray& statistics, double momentum, double epsilon) {
  const std::int64_t channels = mean.shape[0];
  if (channels == 0) return;
  visit_trainable(mean.dtype, [&]<typename T>() {
    const Merged<T> out{mean.data<T>(), inverse_std.data<T>(), count.data<T>(),
                        running_mean.data<T>(), running_variance.data<T>()};
    const auto blocks = static_cast<unsigned>((channels + kThreads - 1) / kThreads);
    merge_kernel<<<blocks, kThreads, 0, stream_of(context)>>>(
        out, static_cast<const T*>(statistics.data<T>()), statistics.shape[0], channels, momentum,
        epsilon);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::batch_norm_normalise(LaunchContext& context, const DeviceArray& y,
                                       const DeviceArray& x, const DeviceArray& mean,
                                       const DeviceArray& inverse_std, const DeviceArray& weight,
                                       const DeviceArray& bias) {
  visit_trainable(x.dtype, [&]<typename T>() {
    const Normalise<T> body{y.data<T>(),           x.data<T>(),      mean.data<T>(),
                            inverse_std.data<T>(), weight.data<T>(), bias.data<T>(),
                            Channels(x.shape)};
    for_elements<T>(context, x.count(), {body.y, body.x}, body);
  });
}

void CudaKernels::batch_norm_backward_sums(LaunchContext& context, const DeviceArray& sums,
                                           const DeviceArray& dy, const DeviceArray& x,
                                           const DeviceArray& mean,
                                           const DeviceArray& inverse_std) {
  const Channels channels(x.shape);
  if (channels.channels == 0) return;
  visit_trainable(x.dtype, [&]<typename T>() {
    backward_sums_kernel<<<channels.blocks(), kChannelThreads, 0, stream_of(context)>>>(
        sums.data<T>(), static_cast<const T*>(dy.data<T>()), static_cast<const T*>(x.data<T>()),
        static_cast<const T*>(mean.data<T>()), static_cast<const T*>(inverse_std.data<T>()),
        channels);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::batch_norm_backward_elements(LaunchContext& context, const DeviceArray& dx,
                                               const DeviceArray& dy, const DeviceArray& x,
                                               const DeviceArray& weight, const DeviceArray& mean,
                                               const DeviceArray& inverse_std,
                                               const DeviceArray& sums, const DeviceArray& count) {
  visit_trainable(x.dtype, [&]<typename T>() {
    const BackwardElements<T> body{dx.data<T>(),     dy.data<T>(),    x.data<T>(),
                                   weight.data<T>(), mean.data<T>(),  inverse_std.data<T>(),
                                   sums.data<T>(),   count.data<T>(), Channels(x.shape)};
    for_elements<T>(context, x.count(), {body.dx, body.dy, body.x}, body);
  });
}

}  // namespace ringside::cuda
