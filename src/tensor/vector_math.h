// exp, erf and tanh without branches and calls, so that compilers vectorise the loops around them.
//
// float32 to about 1e-7 relative (exp, tanh) and absolute (erf); float64's exp and erf go to the
// standard library, its tanh is good to 1e-15 relative. NaN stays NaN. Nothing is contracted, so
// the bits are the same with any instruction set.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ringside {

/// Cephes' expf: x = n log 2 + r, exp(x) = 2^n exp(r), exp(r) by a polynomial. Subnormal results
/// become 0.
constexpr float vector_exp(float x) {
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
constexpr float vector_erf(float x) {
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

/// Cephes' tanhf: a polynomial below 0.625, (e - 1) / (e + 1) with e = exp(2|x|) above. Both are
/// computed, one is taken.
constexpr float vector_tanh(float x) {
  const float t = std::fabs(x);
  const float s = x * x;
  float near = -5.70498872745e-3F;
  near = near * s + 2.06390887954e-2F;
  near = near * s - 5.37397155531e-2F;
  near = near * s + 1.33314422036e-1F;
  near = near * s - 3.33332819422e-1F;
  near = near * s * x + x;
  const float u = t > 10.0F ? 10.0F : t;  // tanh is 1 from there on
  const float far = std::copysign(1.0F - 2.0F / (vector_exp(2.0F * u) + 1.0F), x);
  return t < 0.625F ? near : far;
}

/// Cephes' tanh and exp: x + x (rational of x^2) below 0.625; above, exp(2|x|) = 2^n (q + p) / (q -
/// p) put into (e - 1) / (e + 1). One division serves both.
constexpr double vector_tanh(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52, as kRound in vector_exp
  const double t = std::fabs(x);
  const double s = x * x;
  const double near_above = s * ((-9.64399179425052238628e-1 * s - 9.92877231001918586564e1) * s -
                                 1.61468768441708447952e3);
  const double near_below = ((s + 1.12811678491632931402e2) * s + 2.23548839060100448583e3) * s +
                            4.84406305325125486048e3;
  const double bounded = t > 20.0 ? 20.0 : t;  // tanh is 1 from there on
  const double y = 2.0 * bounded;
  const double shifted = y * 1.4426950408889634073599 + kRound;
  const double n = shifted - kRound;
  const double r = (y - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
  const double rr = r * r;
  const double p = r * ((1.26177193074810590878e-4 * rr + 3.02994407707441961300e-2) * rr +
                        9.99999999999999999910e-1);
  const double q = ((3.00198505138664455042e-6 * rr + 2.52448340349684104192e-3) * rr +
                    2.27265548208155028766e-1) *
                       rr +
                   2.0;
  const auto power =
      std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) << 52U) + 0x3ff0000000000000U);
  const double grown = power * (q + p);
  const bool near = t < 0.625;
  const double above = near ? near_above : grown - (q - p);
  const double below = near ? near_below : grown + (q - p);
  const double quotient = above / below;
  const double far = std::copysign(quotient, x);
  return near ? x + x * quotient : far;
}

}  // namespace ringside
