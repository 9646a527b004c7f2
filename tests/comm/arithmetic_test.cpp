// Element arithmetic where it is not obvious: avg, NaN, overflow.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "comm/arithmetic.h"

namespace ringside {
namespace {

template <typename T>
T combined(ReduceOp op, T a, T b) {
  T out{};
  combine(dtype_of<T>(), op, &out, &a, &b, 1);
  return out;
}

TEST(Arithmetic, MinAndMaxOfANaNAreNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto op : {ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kSum}) {
    EXPECT_TRUE(std::isnan(combined(op, nan, 1.0F)));
    EXPECT_TRUE(std::isnan(combined(op, 1.0F, nan)));
  }
  EXPECT_EQ(combined(ReduceOp::kMin, 1.0F, 2.0F), 1.0F);
  EXPECT_EQ(combined(ReduceOp::kMax, 1.0, 2.0), 2.0);
}

TEST(Arithmetic, IntegerSumsWrapAround) {
  const std::int32_t largest = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(combined(ReduceOp::kSum, largest, 1), std::numeric_limits<std::int32_t>::min());
}

TEST(Arithmetic, ProductsOfIntegersWrapAround) {
  EXPECT_EQ(combined(ReduceOp::kProd, 3, -5), -15);
  EXPECT_EQ(combined<std::uint8_t>(ReduceOp::kProd, 20, 13), 4);  // 260 - 256
  EXPECT_EQ(combined<std::uint8_t>(ReduceOp::kSum, 250, 10), 4);
  EXPECT_EQ(combined(ReduceOp::kProd, 1.5, 4.0), 6.0);
}

// 2048 + 1 is half way between two float16 and goes to the even one, so that adding ones stops
// there: no accumulator is wider than the type.
TEST(Arithmetic, EverySumOf16BitsIsRoundedTo16Bits) {
  EXPECT_EQ(combined(ReduceOp::kSum, Float16(2048), Float16(1)), 2048.0F);
  EXPECT_EQ(combined(ReduceOp::kSum, Float16(2050), Float16(1)), 2052.0F);
  EXPECT_EQ(combined(ReduceOp::kSum, BFloat16(256), BFloat16(1)), 256.0F);
  EXPECT_EQ(combined(ReduceOp::kProd, Float16(300), Float16(300)),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ(combined(ReduceOp::kMax, BFloat16(-3), BFloat16(2)), 2.0F);
}

TEST(Arithmetic, AvgOfFloat16ScalesByARoundedReciprocal) {
  const Float16 in(10);
  Float16 out;
  contribute(DType::kFloat16, ReduceOp::kAvg, 3, &out, &in, 1);
  EXPECT_EQ(out.bits(), Float16(10.0F * static_cast<float>(Float16(1.0F / 3.0F))).bits());
}

// 300 ranks do not fit the type that they divide.
TEST(Arithmetic, AvgOfBytesDividesByAnyNumberOfRanks) {
  std::uint8_t value = 250;
  conclude(DType::kUInt8, ReduceOp::kAvg, 300, &value, 1);
  EXPECT_EQ(value, 0);
}

// NCCL: each input times 1/n, rounded; not the sum divided by n.
TEST(Arithmetic, FloatAvgScalesTheContributions) {
  const std::vector<float> in{1.0F, 10.0F};
  std::vector<float> out(2);
  contribute(DType::kFloat32, ReduceOp::kAvg, 3, out.data(), in.data(), 2);
  EXPECT_EQ(out[1], 10.0F * (1.0F / 3.0F));
  EXPECT_NE(out[1], 10.0F / 3.0F);
  conclude(DType::kFloat32, ReduceOp::kAvg, 3, out.data(), 2);
  EXPECT_EQ(out[1], 10.0F * (1.0F / 3.0F));
}

TEST(Arithmetic, IntegerAvgDividesAtTheEndTowardZero) {
  std::vector<std::int64_t> values{7, -7};
  contribute(DType::kInt64, ReduceOp::kAvg, 3, values.data(), values.data(), 2);
  EXPECT_EQ(values, (std::vector<std::int64_t>{7, -7}));
  conclude(DType::kInt64, ReduceOp::kAvg, 3, values.data(), 2);
  EXPECT_EQ(values, (std::vector<std::int64_t>{2, -2}));
}

}  // namespace
}  // namespace ringside
