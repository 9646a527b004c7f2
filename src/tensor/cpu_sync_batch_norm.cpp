// Batch normalisation over several ranks, in parts. Sums are taken in float64 whatever the dtype.
#include <cmath>
#include <vector>

#include "tensor/cpu_channels.h"
#include "tensor/cpu_kernel_set.h"

namespace ringside {

void CpuKernels::batch_norm_statistics(LaunchContext&, const DeviceArray& out,
                                       const DeviceArray& x) {
  visit_floating(x.dtype, [&]<typename T>() {
    const Channels channels(x.shape);
    const ChannelStatistics of_x(channels, x.data<T>());
    T* statistics = out.data<T>();
    for (std::int64_t c = 0; c < channels.channels; ++c) {
      statistics[c] = static_cast<T>(of_x.mean[c]);
      statistics[channels.channels + c] = static_cast<T>(of_x.squares[c]);
    }
    statistics[2 * channels.channels] = static_cast<T>(channels.per_channel);
  });
}

// Chan, Golub and LeVeque's formula: Σ (x - mean)² = Σ of the ranks' own + n (own mean - mean)².
void CpuKernels::batch_norm_merge(LaunchContext&, const DeviceArray& mean,
                                  const DeviceArray& inverse_std, const DeviceArray& count,
                                  const DeviceArray& running_mean,
                                  const DeviceArray& running_variance,
                                  const DeviceArray& statistics, double momentum, double epsilon) {
  visit_floating(mean.dtype, [&]<typename T>() {
    const std::int64_t ranks = statistics.shape[0];
    const std::int64_t channels = mean.shape[0];
    const auto of = [&](std::int64_t rank, std::int64_t place) {
      return static_cast<double>(statistics.data<T>()[rank * (2 * channels + 1) + place]);
    };
    double values = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) values += of(rank, 2 * channels);
    count.data<T>()[0] = static_cast<T>(values);
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t rank = 0; rank < ranks; ++rank) sum += of(rank, c) * of(rank, 2 * channels);
      const double middle = sum / values;
      double squares = 0;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const double apart = of(rank, c) - middle;
        squares += of(rank, channels + c) + of(rank, 2 * channels) * apart * apart;
      }
      mean.data<T>()[c] = static_cast<T>(middle);
      inverse_std.data<T>()[c] = static_cast<T>(1 / std::sqrt(squares / values + epsilon));
      move_running(running_mean.data<T>()[c], middle, momentum);
      move_running(running_variance.data<T>()[c], squares / (values - 1), momentum);
    }
  });
}

void CpuKernels::batch_norm_normalise(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                                      const DeviceArray& mean, const DeviceArray& inverse_std,
                                      const DeviceArray& weight, const DeviceArray& bias) {
  visit_floating(x.dtype, [&]<typename T>() {
    normalise(Channels(x.shape), y, x, mean.data<T>(), inverse_std.data<T>(), weight, bias);
  });
}

void CpuKernels::batch_norm_backward_sums(LaunchContext&, const DeviceArray& sums,
                                          const DeviceArray& dy, const DeviceArray& x,
                                          const DeviceArray& mean, const DeviceArray& inverse_std) {
  visit_floating(x.dtype, [&]<typename T>() {
    const Channels channels(x.shape);
    const ChannelSums<T> of_dy(channels, dy.data<T>(), x.data<T>(), mean.data<T>(),
                               inverse_std.data<T>());
    for (std::int64_t c = 0; c < channels.channels; ++c) {
      sums.data<T>()[c] = static_cast<T>(of_dy.gradient[c]);
      sums.data<T>()[channels.channels + c] = static_cast<T>(of_dy.dot[c]);
    }
  });
}

void CpuKernels::batch_norm_backward_elements(LaunchContext&, const DeviceArray& dx,
                                              const DeviceArray& dy, const DeviceArray& x,
                                              const DeviceArray& weight, const DeviceArray& mean,
                                              const DeviceArray& inverse_std,
                                              const DeviceArray& sums, const DeviceArray& count) {
  visit_floating(x.dtype, [&]<typename T>() {
    const Channels channels(x.shape);
    const T* all = sums.data<T>();
    const auto values = static_cast<double>(count.data<T>()[0]);
    T* out = dx.data<T>();
    channels.for_each([&](std::int64_t c, std::int64_t i) {
      const double deviation = inverse_std.data<T>()[c];
      const double normal = (static_cast<double>(x.data<T>()[i]) - mean.data<T>()[c]) * deviation;
      const double centred = static_cast<double>(dy.data<T>()[i]) - all[c] / values -
                             normal * all[channels.channels + c] / values;
      out[i] = static_cast<T>(weight.data<T>()[c] * deviation * centred);
    });
  });
}

}  // namespace ringside
