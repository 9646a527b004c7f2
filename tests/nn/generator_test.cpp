// The generator beyond its draws, which init_oracle_test.cpp compares with PyTorch's.

#include <gtest/gtest.h>

#include <cstdint>

#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

TEST(Generator, JoinsTwoDrawsTo64BitsHighHalfFirst) {
  Generator words(0);
  Generator doubles(0);
  const std::uint64_t high = words.next_u32();
  const std::uint64_t low = words.next_u32();
  EXPECT_EQ(high, 2357136044U);
  EXPECT_EQ(doubles.next_u64(), high << 32 | low);
}

TEST(Generator, RefusesEmptyRanges) {
  Generator generator(0);
  EXPECT_THROW(generator.randint(3, 3), Error);
  EXPECT_THROW(generator.randperm(-1), Error);
  EXPECT_TRUE(generator.randperm(0).empty());
}

}  // namespace
}  // namespace ringside
