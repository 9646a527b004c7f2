// The 16-bit floats: every value there and back, and rounding to nearest even.
#include "ringside/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace ringside {
namespace {

template <typename T>
void expect_every_value_back() {
  for (int bits = 0; bits <= 0xFFFF; ++bits) {
    const T value = T::from_bits(static_cast<std::uint16_t>(bits));
    const float wide = value;
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(T(wide))));
      continue;
    }
    ASSERT_EQ(T(wide).bits(), bits);
    ASSERT_EQ(T(static_cast<double>(wide)).bits(), bits);
  }
}

TEST(Float16, EveryValueComesBack) { expect_every_value_back<Float16>(); }
TEST(BFloat16, EveryValueComesBack) { expect_every_value_back<BFloat16>(); }

// Between two neighbours: nearer to one, nearer to the other, and half way, to the even one.
template <typename T>
void expect_nearest_even(int last_finite) {
  for (int bits = 0; bits < last_finite; ++bits) {
    const double low = static_cast<float>(T::from_bits(static_cast<std::uint16_t>(bits)));
    const double high = static_cast<float>(T::from_bits(static_cast<std::uint16_t>(bits + 1)));
    const double middle = low + (high - low) / 2;  // exact in double
    const int even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(T(middle).bits(), even);
    ASSERT_EQ(T(-middle).bits(), even | 0x8000);
    ASSERT_EQ(T(std::nextafter(middle, 0.0)).bits(), bits);
    ASSERT_EQ(T(std::nextafter(middle, 1e300)).bits(), bits + 1);
  }
}

TEST(Float16, RoundsToNearestEven) { expect_nearest_even<Float16>(0x7BFF); }
TEST(BFloat16, RoundsToNearestEven) { expect_nearest_even<BFloat16>(0x7F7F); }

TEST(Float16, FromFloatRoundsToNearestEven) {
  EXPECT_EQ(Float16(1.0F + 0x1p-11F).bits(), 0x3C00);             // half way: even
  EXPECT_EQ(Float16(1.0F + 0x1p-11F + 0x1p-20F).bits(), 0x3C01);  // above
  EXPECT_EQ(Float16(1.0F + 3 * 0x1p-11F).bits(), 0x3C02);         // half way: even
  EXPECT_EQ(Float16(0x1p-25F).bits(), 0x0000);
  EXPECT_EQ(Float16(0x1.8p-25F).bits(), 0x0001);
  EXPECT_EQ(Float16(3 * 0x1p-25F).bits(), 0x0002);
}

TEST(Float16, OverflowsToInfinityAndKeepsNaN) {
  EXPECT_EQ(Float16(65519.0F).bits(), 0x7BFF);
  EXPECT_EQ(Float16(65520.0F).bits(), 0x7C00);
  EXPECT_EQ(Float16(-1e300).bits(), 0xFC00);
  EXPECT_TRUE(std::isnan(static_cast<float>(Float16(std::nan("")))));
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits(), 0x7F80);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::nanf("")))));
  EXPECT_EQ(Float16(-0.0F).bits(), 0x8000);
}

}  // namespace
}  // namespace ringside
