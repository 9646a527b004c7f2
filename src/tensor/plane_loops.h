// The bodies of PlaneKernels, over vectors of kBytes. Compiled once for each instruction set, with
// the care that vector_lanes.h names. A block of sums stays in registers while the taps or the
// positions pass.
#pragma once

#include <cstdint>

#include "core/vector_lanes.h"
#include "tensor/plane_kernels.h"

namespace ringside::plane_loops {

template <typename T, int kBytes>
using Vector = VectorLanes<T, kBytes>;

// ---------------------------------------------------------------- correlate

template <typename T, int kBytes, int kOutputs, int kVectors>
void correlate_block(const Correlation<T>& c, std::int64_t first_output, std::int64_t position) {
  using V = Vector<T, kBytes>;
  typename V::Type sums[kOutputs][kVectors];
  for (int o = 0; o < kOutputs; ++o) {
    for (int v = 0; v < kVectors; ++v) sums[o][v] = typename V::Type{};
  }
  const T* weights = c.weights + first_output;
  const T* in = c.in + position;
  for (std::int64_t tap = 0; tap < c.taps; ++tap, weights += c.outputs) {
    typename V::Type values[kVectors];
    for (int v = 0; v < kVectors; ++v) values[v] = V::load(in + c.offsets[tap] + v * V::kLanes);
    for (int o = 0; o < kOutputs; ++o) {
      for (int v = 0; v < kVectors; ++v) sums[o][v] += values[v] * weights[o];
    }
  }
  for (int o = 0; o < kOutputs; ++o) {
    T* out = c.out + (first_output + o) * c.out_pitch + position;
    for (int v = 0; v < kVectors; ++v) V::store(out + v * V::kLanes, sums[o][v]);
  }
}

template <typename T, int kBytes, int kOutputs>
void correlate_outputs(const Correlation<T>& c, std::int64_t first_output) {
  constexpr std::int64_t kLanes = Vector<T, kBytes>::kLanes;
  std::int64_t position = 0;
  for (; position + kLanes < c.positions; position += 2 * kLanes) {
    correlate_block<T, kBytes, kOutputs, 2>(c, first_output, position);
  }
  if (position < c.positions) correlate_block<T, kBytes, kOutputs, 1>(c, first_output, position);
}

/// Calls `block` with a compile-time count in [1, kMost] for each of the nearly equal parts of
/// `count`.
template <int kMost, int kSize = kMost, typename Block>
void with_constant(std::int64_t size, const Block& block) {
  if (size == kSize) {
    block.template operator()<kSize>();
  } else if constexpr (kSize > 1) {
    with_constant<kMost, kSize - 1>(size, block);
  }
}

template <int kMost, typename Block>
void in_blocks(std::int64_t count, const Block& block) {
  const std::int64_t blocks = (count + kMost - 1) / kMost;
  std::int64_t first = 0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t size = (count - first + blocks - b - 1) / (blocks - b);
    with_constant<kMost>(size, [&]<int kSize>() { block.template operator()<kSize>(first); });
    first += size;
  }
}

template <typename T, int kBytes, int kMostOutputs>
void correlate(const Correlation<T>& c) {
  in_blocks<kMostOutputs>(c.outputs, [&]<int kOutputs>(std::int64_t first) {
    correlate_outputs<T, kBytes, kOutputs>(c, first);
  });
}

// ---------------------------------------------------------------- add_products

template <typename T, int kBytes, int kOutputs, int kTaps>
void add_products_block(const PlaneProducts<T>& p, std::int64_t first_output,
                        std::int64_t first_tap) {
  using V = Vector<T, kBytes>;
  typename V::Type sums[kOutputs][kTaps];
  for (int o = 0; o < kOutputs; ++o) {
    for (int k = 0; k < kTaps; ++k) sums[o][k] = typename V::Type{};
  }
  for (std::int64_t image = 0; image < p.images; ++image) {
    const T* gradient = p.gradient + image * p.gradient_stride + first_output * p.gradient_pitch;
    const T* in = p.in + image * p.in_stride;
    for (std::int64_t i = 0; i < p.positions; i += V::kLanes) {
      typename V::Type slopes[kOutputs];
      for (int o = 0; o < kOutputs; ++o) slopes[o] = V::load(gradient + o * p.gradient_pitch + i);
      for (int k = 0; k < kTaps; ++k) {
        const typename V::Type value = V::load(in + p.offsets[first_tap + k] + i);
        for (int o = 0; o < kOutputs; ++o) sums[o][k] += value * slopes[o];
      }
    }
  }
  for (int o = 0; o < kOutputs; ++o) {
    T* out = p.sums + (first_output + o) * p.taps + first_tap;
    for (int k = 0; k < kTaps; ++k) out[k] += V::sum(sums[o][k]);
  }
}

template <typename T, int kBytes, int kMostOutputs>
void add_products(const PlaneProducts<T>& p) {
  in_blocks<kMostOutputs>(p.outputs, [&]<int kOutputs>(std::int64_t output) {
    in_blocks<4>(p.taps, [&]<int kTaps>(std::int64_t tap) {
      add_products_block<T, kBytes, kOutputs, kTaps>(p, output, tap);
    });
  });
}

/// kMostOutputs of a block of correlate, kMostSlopes of add_products: as many sums as registers
/// hold.
template <typename T, int kBytes, int kMostOutputs, int kMostSlopes>
PlaneKernels<T> kernels() {
  return {kBytes / static_cast<std::int64_t>(sizeof(T)), correlate<T, kBytes, kMostOutputs>,
          add_products<T, kBytes, kMostSlopes>};
}

}  // namespace ringside::plane_loops
