// What the kernels of batch normalisation share: the channels of a batch, and sums over them.
#pragma once

#include <cstdint>
#include <vector>

#include "ringside/device.h"

namespace ringside {

/// The geometry of a batch: `inner` values of a channel lie together.
struct Channels {
  explicit Channels(const Shape& shape) : batch(shape[0]), channels(shape[1]) {
    for (std::size_t d = 2; d < shape.rank(); ++d) inner *= shape.sizes()[d];
    per_channel = batch * inner;
  }

  std::int64_t batch, channels;
  std::int64_t inner = 1;
  std::int64_t per_channel = 0;

  /// Calls visit(channel, i) for every element in memory order.
  template <typename Visit>
  void for_each(Visit visit) const {
    std::int64_t i = 0;
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t s = 0; s < inner; ++s) visit(c, i++);
      }
    }
  }
};

/// Mean and sum of squared deviations of every channel; zeros of none.
struct ChannelStatistics {
  template <typename T>
  ChannelStatistics(const Channels& channels, const T* x)
      : mean(channels.channels, 0.0), squares(channels.channels, 0.0) {
    const auto count = static_cast<double>(channels.per_channel);
    channels.for_each([&](std::int64_t c, std::int64_t i) { mean[c] += x[i]; });
    for (double& m : mean) m = count > 0 ? m / count : 0;
    channels.for_each([&](std::int64_t c, std::int64_t i) {
      const double deviation = x[i] - mean[c];
      squares[c] += deviation * deviation;
    });
  }
  std::vector<double> mean, squares;
};

/// running = momentum * batch + (1 - momentum) * running.
template <typename T>
void move_running(T& running, double batch, double momentum) {
  running = static_cast<T>(momentum * batch + (1 - momentum) * static_cast<double>(running));
}

/// Writes y = (x - mean) * inverse_std * weight + bias as one scale and one shift per channel.
template <typename T>
void normalise(const Channels& channels, const DeviceArray& y, const DeviceArray& x, const T* mean,
               const T* inverse_std, const DeviceArray& weight, const DeviceArray& bias) {
  std::vector<T> scale(channels.channels);
  std::vector<T> shift(channels.channels);
  for (std::int64_t c = 0; c < channels.channels; ++c) {
    scale[c] = inverse_std[c] * weight.data<T>()[c];
    shift[c] = bias.data<T>()[c] - mean[c] * scale[c];
  }
  T* out = y.data<T>();
  const T* in = x.data<T>();
  channels.for_each([&](std::int64_t c, std::int64_t i) { out[i] = in[i] * scale[c] + shift[c]; });
}

/// The backward sums of every channel: Σ dy (the bias's gradient) and Σ dy x̂ (the weight's), where
/// x̂ = (x - mean) * inverse_std.
template <typename T>
struct ChannelSums {
  ChannelSums(const Channels& channels, const T* dy, const T* x, const T* mean,
              const T* inverse_std)
      : gradient(channels.channels, 0.0), dot(channels.channels, 0.0) {
    channels.for_each([&](std::int64_t c, std::int64_t i) {
      gradient[c] += dy[i];
      dot[c] += dy[i] * static_cast<double>((x[i] - mean[c]) * inverse_std[c]);
    });
  }
  void store(const DeviceArray& dweight, const DeviceArray& dbias) const {
    for (std::size_t c = 0; c < gradient.size(); ++c) {
      dweight.data<T>()[c] = static_cast<T>(dot[c]);
      dbias.data<T>()[c] = static_cast<T>(gradient[c]);
    }
  }
  std::vector<double> gradient, dot;
};

}  // namespace ringside
