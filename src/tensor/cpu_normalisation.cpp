// Batch normalisation per channel of [B,C] or [B,C,...]. Statistics and the backward sums are taken
// in float64 whatever the dtype, batch by batch, as PyTorch's CPU kernels do.
#include <cmath>
#include <vector>

#include "tensor/cpu_channels.h"
#include "tensor/cpu_kernel_set.h"

namespace ringside {
namespace {

/// 1 / sqrt(variance + epsilon) of the running variance.
template <typename T>
std::vector<T> inverse_deviation(const DeviceArray& variance, double epsilon) {
  std::vector<T> inverse_std;
  inverse_std.reserve(variance.count());
  for (const T value : variance.elements<T>()) {
    inverse_std.push_back(static_cast<T>(1 / std::sqrt(static_cast<double>(value) + epsilon)));
  }
  return inverse_std;
}

}  // namespace

void CpuKernels::batch_norm(LaunchContext&, const DeviceArray& y, const DeviceArray& saved_mean,
                            const DeviceArray& saved_inverse_std, const DeviceArray& running_mean,
                            const DeviceArray& running_variance, const DeviceArray& x,
                            const DeviceArray& weight, const DeviceArray& bias, double momentum,
                            double epsilon) {
  visit_floating(x.dtype, [&]<typename T>() {
    const Channels channels(x.shape);
    const auto count = static_cast<double>(channels.per_channel);
    const ChannelStatistics batch(channels, x.data<T>());
    for (std::int64_t c = 0; c < channels.channels; ++c) {
      saved_mean.data<T>()[c] = static_cast<T>(batch.mean[c]);
      saved_inverse_std.data<T>()[c] =
          static_cast<T>(1 / std::sqrt(batch.squares[c] / count + epsilon));
      move_running(running_mean.data<T>()[c], batch.mean[c], momentum);
      move_running(running_variance.data<T>()[c], batch.squares[c] / (count - 1), momentum);
    }
    normalise(channels, y, x, saved_mean.data<T>(), saved_inverse_std.data<T>(), weight, bias);
  });
}

void CpuKernels::batch_norm_evaluate(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                                     const DeviceArray& running_mean,
                                     const DeviceArray& running_variance, const DeviceArray& weight,
                                     const DeviceArray& bias, double epsilon) {
  visit_floating(x.dtype, [&]<typename T>() {
    const Channels channels(x.shape);
    const std::vector<T> inverse_std = inverse_deviation<T>(running_variance, epsilon);
    normalise(channels, y, x, running_mean.data<T>(), inverse_std.data(), weight, bias);
  });
}

// dx = weight * inverse_std * (dy - Σ dy / n - x̂ * Σ dy x̂ / n) for n values per channel.
void CpuKernels::batch_norm_backward(LaunchContext&, const DeviceArray& dx,
                                     const DeviceArray& dweight, const DeviceArray& dbias,
                                     const DeviceArray& dy, const DeviceArray& x,
                                     const DeviceArray& weight, const DeviceArray& saved_mean,
                                     const DeviceArray& saved_inverse_std) {
  visit_floating(dx.dtype, [&]<typename T>() {
    const Channels channels(x.shape);
    const auto count = static_cast<double>(channels.per_channel);
    const T* in = x.data<T>();
    const T* gradient = dy.data<T>();
    const T* mean = saved_mean.data<T>();
    const T* inverse_std = saved_inverse_std.data<T>();
    const ChannelSums<T> sums(channels, gradient, in, mean, inverse_std);
    sums.store(dweight, dbias);
    std::vector<T> mean_gradient(channels.channels);
    std::vector<T> mean_dot(channels.channels);
    for (std::int64_t c = 0; c < channels.channels; ++c) {
      mean_gradient[c] = static_cast<T>(sums.gradient[c] / count);
      mean_dot[c] = static_cast<T>(sums.dot[c] / count);
    }
    T* out = dx.data<T>();
    const T* w = weight.data<T>();
    channels.for_each([&](std::int64_t c, std::int64_t i) {
      const T normalised = (in[i] - mean[c]) * inverse_std[c];
      out[i] = w[c] * inverse_std[c] * (gradient[i] - mean_gradient[c] - normalised * mean_dot[c]);
    });
  });
}

void CpuKernels::batch_norm_evaluate_backward(LaunchContext&, const DeviceArray& dx,
                                              const DeviceArray& dweight, const DeviceArray& dbias,
                                              const DeviceArray& dy, const DeviceArray& x,
                                              const DeviceArray& weight,
                                              const DeviceArray& running_mean,
                                              const DeviceArray& running_variance, double epsilon) {
  visit_floating(dx.dtype, [&]<typename T>() {
    const Channels channels(x.shape);
    const T* gradient = dy.data<T>();
    const std::vector<T> inverse_std = inverse_deviation<T>(running_variance, epsilon);
    ChannelSums<T>(channels, gradient, x.data<T>(), running_mean.data<T>(), inverse_std.data())
        .store(dweight, dbias);
    T* out = dx.data<T>();
    const T* w = weight.data<T>();
    channels.for_each(
        [&](std::int64_t c, std::int64_t i) { out[i] = w[c] * inverse_std[c] * gradient[i]; });
  });
}

}  // namespace ringside
