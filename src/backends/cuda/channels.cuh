// What the kernels of batch normalisation share: the channels of a batch, sums over them, and the
// loop over elements that know their channel.
//
// Sums are taken in float64 whatever the dtype, a block a channel.
#pragma once

#include <cstdint>

#include "backends/cuda/blocks.cuh"
#include "backends/cuda/elements.cuh"
#include "ringside/device.h"

namespace ringside::cuda {

inline constexpr unsigned kChannelThreads = 512;

/// `inner` values of a channel lie together.
struct Channels {
  explicit Channels(const Shape& shape) : batch(shape[0]), channels(shape[1]) {
    for (std::size_t d = 2; d < shape.rank(); ++d) inner *= shape.sizes()[d];
  }
  std::int64_t batch, channels;
  std::int64_t inner = 1;

  __host__ __device__ std::int64_t per_channel() const { return batch * inner; }
  __device__ std::int64_t of_element(std::size_t i) const {
    return static_cast<std::int64_t>(i) / inner % channels;
  }
  /// The place of value i of a channel.
  __device__ std::int64_t place(std::int64_t channel, std::int64_t i) const {
    return (i / inner * channels + channel) * inner + i % inner;
  }
  unsigned blocks() const { return static_cast<unsigned>(channels); }
};

struct MeanAndSquares {
  double mean;
  double squares;  // Σ (x - mean)²
};

/// Of a channel, by its block; every thread gets them.
template <typename T>
__device__ MeanAndSquares channel_statistics(const T* x, const Channels& channels, std::int64_t c) {
  const std::int64_t count = channels.per_channel();
  const double sum =
      block_sum_of(count, [&](std::int64_t i) -> double { return x[channels.place(c, i)]; });
  const double mean = sum / static_cast<double>(count);
  const double squares = block_sum_of(count, [&](std::int64_t i) {
    const double deviation = x[channels.place(c, i)] - mean;
    return deviation * deviation;
  });
  return {mean, squares};
}

struct GradientSums {
  double gradient;  // Σ dy
  double dot;       // Σ dy x̂, x̂ = (x - mean) * inverse_std
};

template <typename T>
__device__ GradientSums channel_gradient_sums(const T* dy, const T* x, const Channels& channels,
                                              std::int64_t c, T mean, T inverse_std) {
  const std::int64_t count = channels.per_channel();
  const double gradient =
      block_sum_of(count, [&](std::int64_t i) -> double { return dy[channels.place(c, i)]; });
  const double dot = block_sum_of(count, [&](std::int64_t i) -> double {
    const std::int64_t place = channels.place(c, i);
    return dy[place] * static_cast<double>((x[place] - mean) * inverse_std);
  });
  return {gradient, dot};
}

template <typename T>
__device__ void move_running(T& running, double batch, double momentum) {
  running = static_cast<T>(momentum * batch + (1 - momentum) * static_cast<double>(running));
}

/// y = (x - mean) * inverse_std * weight + bias as one scale and one shift per channel.
template <typename T>
struct Normalise {
  T* y;
  const T* x;
  const T* mean;
  const T* inverse_std;
  const T* weight;
  const T* bias;
  Channels channels;
  template <int N>
  __device__ void at(std::size_t i) const {
    auto values = load<N>(x + i);
    for (int n = 0; n < N; ++n) {
      const std::int64_t c = channels.of_element(i + n);
      const T scale = inverse_std[c] * weight[c];
      const T shift = bias[c] - mean[c] * scale;
      values[n] = values[n] * scale + shift;
    }
    store(y + i, values);
  }
};

}  // namespace ringside::cuda
