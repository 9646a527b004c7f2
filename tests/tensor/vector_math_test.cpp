// exp, erf and tanh of vector_math.h against the standard library's in float64, over all that they
// take.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/vector_math.h"

namespace ringside::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(VectorMath, ExpIsRightToARounding) {
  double worst = 0;
  for (int i = -87300; i <= 88300; ++i) {
    const float x = static_cast<float>(i) * 1e-3F + 1e-4F;
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(vector_exp(x) - exact) / exact);
  }
  EXPECT_LT(worst, 1.2e-7);
  EXPECT_EQ(vector_exp(0.0F), 1);
}

TEST(VectorMath, ErfIsRightToARounding) {
  double worst = 0;
  for (int i = -60000; i <= 60000; ++i) {
    const float x = static_cast<float>(i) * 1e-4F;
    worst = std::max(worst, std::abs(vector_erf(x) - std::erf(static_cast<double>(x))));
  }
  EXPECT_LT(worst, 1.2e-7);
  EXPECT_EQ(vector_erf(0.0F), 0);
}

template <typename T>
double worst_tanh() {
  double worst = 0;
  for (int i = -250000; i <= 250000; ++i) {
    const T x = static_cast<T>(i) * static_cast<T>(1e-4) + static_cast<T>(1e-7);
    const double exact = std::tanh(static_cast<double>(x));
    worst = std::max(worst, std::abs((static_cast<double>(vector_tanh(x)) - exact) / exact));
  }
  return worst;
}

TEST(VectorMath, TanhIsRightToARounding) {
  EXPECT_LT(worst_tanh<float>(), 2e-7);
  EXPECT_LT(worst_tanh<double>(), 1e-15);
  EXPECT_EQ(vector_tanh(0.0F), 0);
  EXPECT_EQ(vector_tanh(0.0), 0);
  EXPECT_EQ(vector_tanh(1e-30), 1e-30);
}

TEST(VectorMath, EndsAreTheStandardLibrarys) {
  EXPECT_EQ(vector_exp(-kInfinity), 0);
  EXPECT_EQ(vector_exp(-1000.0F), 0);
  EXPECT_EQ(vector_exp(100.0F), kInfinity);
  EXPECT_EQ(vector_exp(kInfinity), kInfinity);
  EXPECT_EQ(vector_erf(kInfinity), 1);
  EXPECT_EQ(vector_erf(-9.0F), -1);
  EXPECT_TRUE(std::isnan(vector_exp(kNan)));
  EXPECT_TRUE(std::isnan(vector_erf(kNan)));
  for (const float end : {1.0F, -1.0F}) {
    EXPECT_EQ(vector_tanh(end * kInfinity), end);
    EXPECT_EQ(vector_tanh(end * 100), end);
    EXPECT_EQ(vector_tanh(static_cast<double>(end * kInfinity)), end);
    EXPECT_EQ(vector_tanh(end * 1e300), end);
  }
  EXPECT_TRUE(std::isnan(vector_tanh(kNan)));
  EXPECT_TRUE(std::isnan(vector_tanh(static_cast<double>(kNan))));
}

}  // namespace
}  // namespace ringside::test
