#include "nn/vector_math.h"

#include <array>
#include <cmath>
#include <utility>

namespace ringside {

float vector_log(float x) {
  constexpr std::array kPolynomial = {7.0376836292e-2F,  -1.1514610310e-1F, 1.1676998740e-1F,
                                      -1.2420140846e-1F, 1.4249322787e-1F,  -1.6668057665e-1F,
                                      2.0000714765e-1F,  -2.4999993993e-1F, 3.3333331174e-1F};
  constexpr float kLn2Low = -2.12194440e-4F;  // kLn2High + kLn2Low = ln 2
  constexpr float kLn2High = 0.693359375F;

  int exponent = 0;
  float m = std::frexp(x, &exponent);  // m in [0.5, 1)
  auto e = static_cast<float>(exponent);
  if (m < 0.707106781186547524F) {
    e -= 1;
    m = (m - 1) + m;
  } else {
    m = m - 1;
  }
  const float z = m * m;
  float y = kPolynomial[0];
  for (std::size_t i = 1; i < kPolynomial.size(); ++i) y = std::fma(y, m, kPolynomial[i]);
  y = y * m;
  y = std::fma(y, z, e * kLn2Low);
  y = std::fma(-0.5F, z, y);
  return std::fma(e, kLn2High, m + y);
}

SinCos vector_sincos(float x) {
  // The octant, rounded up to an even one; then x minus it times pi/4, in three parts.
  const int octant = (static_cast<int>(x * 1.27323954473516F) + 1) & ~1;
  const auto t = static_cast<float>(octant);
  x = std::fma(t, -0.78515625F, x);
  x = std::fma(t, -2.4187564849853515625e-4F, x);
  x = std::fma(t, -3.77489497744594108e-8F, x);
  const float z = x * x;

  float cosine = 2.443315711809948e-5F;
  cosine = std::fma(cosine, z, -1.388731625493765e-3F);
  cosine = std::fma(cosine, z, 4.166664568298827e-2F);
  cosine = cosine * z;
  cosine = std::fma(cosine, z, -(z * 0.5F));
  cosine = cosine + 1;

  float sine = -1.9515295891e-4F;
  sine = std::fma(sine, z, 8.3321608736e-3F);
  sine = std::fma(sine, z, -1.6666654611e-1F);
  sine = sine * z;
  sine = std::fma(sine, x, x);

  const bool swapped = (octant & 2) != 0;
  if (swapped) std::swap(sine, cosine);
  const bool sine_negative = (octant & 4) != 0;
  const bool cosine_negative = (~(octant - 2) & 4) != 0;
  return {sine_negative ? -sine : sine, cosine_negative ? -cosine : cosine};
}

}  // namespace ringside
