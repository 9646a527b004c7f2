// exp and erf without branches and calls, so that compilers vectorise the loops around them.
//
// float32 only, to about 1e-7 relative (exp) and absolute (erf), NaN stays NaN; float64 goes to the
// standard library. Nothing is contracted, so the bits are the same with any instruction set.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ringside {

/// Cephes' expf: x = n log 2 + r, exp(x) = 2^n exp(r), exp(r) by a polynomial. Subnormal results
/// become 0.
inline float vector_exp(float x) {
  constexpr float kLargest = 88.37F;
  constexpr float kSmallest = -87.33F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: what is added to it is rounded to integers
  const float below = x > kLargest ? kLargest : x;
  const float bounded = below < kSmallest ? kSmallest : below;
  const float shifted = bounded * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = (bounded - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const auto power =
      std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23U) + 0x3f800000U);
  const float product = p * power;
  const float no_overflow = x > kLargest ? std::numeric_limits<float>::infinity() : product;
  return x < kSmallest ? 0.0F : no_overflow;
}
inline double vector_exp(double x) { return std::exp(x); }

/// Two polynomials: of x below 0.93, of an exponent above. Both are computed, one is taken.
inline float vector_erf(float x) {
  const float t = std::fabs(x);
  const float s = x * x;
  float near = -5.96761703e-4F;
  near = near * s + 4.99119423e-3F;
  near = near * s - 2.67681349e-2F;
  near = near * s + 1.12819925e-1F;
  near = near * s - 3.76125336e-1F;
  near = near * s + 1.28379166e-1F;
  near = near * x + x;
  const float u = t < 4.0F ? t : 4.0F;  // erf is 1 from there on
  const float v = u * u;
  float far = -1.72853470e-5F * u + 3.83197126e-4F;
  const float low = -3.88396438e-3F * u + 2.42546219e-2F;
  far = far * v + low;
  far = far * u - 1.06777877e-1F;
  far = far * u - 6.34846687e-1F;
  far = far * u - 1.28717512e-1F;
  far = far * u - u;
  far = std::copysign(1.0F - vector_exp(far), x);
  return t > 0.927734375F ? far : near;
}
inline double vector_erf(double x) { return std::erf(x); }

}  // namespace ringside
