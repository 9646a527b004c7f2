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
