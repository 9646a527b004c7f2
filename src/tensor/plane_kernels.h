// The two inner loops of convolution, over planes laid out so that both run through contiguous
// memory (cpu_convolution.cpp), for the widest vectors that the processor has.
//
// The order of additions is fixed by the shapes and the vector width, so results are the same on
// every run and thread of one machine. plane_loops.h has the bodies.
#pragma once

#include <cstdint>

namespace ringside {

/// out[o * out_pitch + p] = sum over taps of weights[tap * outputs + o] * in[offsets[tap] + p], for
/// p in [0, positions), taps in ascending order. Whole vectors are read and written: both arrays
/// must go on to the next multiple of the lanes.
template <typename T>
struct Correlation {
  T* out;
  std::int64_t out_pitch;
  const T* in;
  const std::int64_t* offsets;  // [taps]
  std::int64_t taps;
  const T* weights;  // [taps, outputs]
  std::int64_t outputs;
  std::int64_t positions;
};

/// sums[o, tap] += sum over images i and positions p of
///     gradient[i * gradient_stride + o * gradient_pitch + p] * in[i * in_stride + offsets[tap] +
///     p].
/// Whole vectors are read: behind the positions, the gradient must be zero, and `in` finite, up to
/// the next multiple of the lanes.
template <typename T>
struct PlaneProducts {
  T* sums;
  const T* gradient;
  std::int64_t gradient_stride, gradient_pitch;
  const T* in;
  std::int64_t in_stride;
  const std::int64_t* offsets;  // [taps]
  std::int64_t taps, outputs, images, positions;
};

template <typename T>
struct PlaneKernels {
  std::int64_t lanes;
  void (*correlate)(const Correlation<T>&);
  void (*add_products)(const PlaneProducts<T>&);
};

/// For this processor.
template <typename T>
const PlaneKernels<T>& plane_kernels();

}  // namespace ringside
