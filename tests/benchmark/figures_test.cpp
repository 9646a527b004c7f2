// Sizes, counts and bandwidth factors are those of nccl-tests.
#include "benchmark/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/collective_case.h"
#include "support/error_text.h"

namespace ringside::benchmark {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

TEST(Sizes, GrowByAFactorOrAStepUpToTheEnd) {
  EXPECT_THAT(sizes_of({8, 64, 2, 0}), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(sizes_of({8, 63, 2, 0}), ElementsAre(8, 16, 32));
  EXPECT_THAT(sizes_of({5, 1000, 10, 0}), ElementsAre(5, 50, 500));
  EXPECT_THAT(sizes_of({100, 350, 2, 100}), ElementsAre(100, 200, 300));
  EXPECT_THAT(sizes_of({100, 300, 2, 100}), ElementsAre(100, 200, 300));
  EXPECT_THAT(sizes_of({7, 7, 2, 0}), ElementsAre(7));
  EXPECT_THAT(sizes_of({7, 7, 2, 3}), ElementsAre(7));
  EXPECT_EQ(sizes_of({8, std::size_t{1} << 30U, 2, 0}).size(), 28U);
  EXPECT_EQ(sizes_of({1, kMaxSizes, 2, 1}).size(), kMaxSizes);
  EXPECT_THAT(sizes_of({1, kMaxBytes, std::numeric_limits<std::size_t>::max(), 0}), ElementsAre(1));
}

TEST(Sizes, RefuseWhatHasNoEnd) {
  const auto fault = [](const SizeRange& range) {
    return test::error_text(ErrorKind::kInvalidArgument, [&] { sizes_of(range); });
  };
  EXPECT_THAT(fault({0, 8, 2, 0}), StartsWith("begin 0: must be at least 1"));
  EXPECT_THAT(fault({9, 8, 2, 0}), StartsWith("begin 9: must be at most the end, 8"));
  EXPECT_THAT(fault({8, 64, 1, 0}), StartsWith("factor 1: must be at least 2"));
  EXPECT_THAT(fault({8, 64, 0, 0}), StartsWith("factor 0: must be at least 2"));
  EXPECT_THAT(fault({1, kMaxSizes + 1, 2, 1}), StartsWith("step 1: 1 to 10001 bytes would be"));
  EXPECT_THAT(fault({1, kMaxBytes + 1, 2, 0}), StartsWith("end 17592186044417: must be at most"));
}

TEST(Extents, AreWholeElementsAndBlocksOfSixteenBytes) {
  const auto check = [](Operation operation, DType dtype, int ranks, std::size_t bytes,
                        std::size_t count, std::size_t size) {
    const Extent extent = extent_of(operation, dtype, ranks, bytes);
    EXPECT_EQ(extent.count, count) << to_string(operation) << bytes;
    EXPECT_EQ(extent.bytes, size) << to_string(operation) << bytes;
  };
  check(Operation::kAllReduce, DType::kFloat32, 4, 1023, 255, 1020);
  check(Operation::kBroadcast, DType::kFloat64, 3, 7, 0, 0);
  check(Operation::kSend, DType::kFloat16, 2, 5, 2, 4);
  // The first row of nccl-tests' all-gather on two ranks that is not empty is of 32 bytes.
  check(Operation::kAllGather, DType::kFloat32, 2, 31, 0, 0);
  check(Operation::kAllGather, DType::kFloat32, 2, 32, 4, 32);
  check(Operation::kReduceScatter, DType::kUInt8, 3, 1000, 320, 960);
  check(Operation::kAllToAll, DType::kInt64, 4, 1024, 32, 1024);
  check(Operation::kGather, DType::kBFloat16, 5, 1024, 96, 960);
  check(Operation::kScatter, DType::kBFloat16, 1, 1024, 512, 1024);
}

// On links of rate 1 the best algorithm takes as long as its busiest port has bytes to send or
// receive: the bus bandwidth must then be 1 for every number of ranks. [Chan et al. 2007]
TEST(BusFactor, GivesTheLinksRateToTheBestAlgorithm) {
  for (const Operation operation : test::kCollectives) {
    for (int ranks = 2; ranks <= 9; ++ranks) {
      const double n = ranks;
      double seconds = 0;  // for one byte of the full buffer
      switch (operation) {
        case Operation::kAllReduce:
          seconds = 2 * (n - 1) / n;
          break;
        case Operation::kBroadcast:
        case Operation::kReduce:
          seconds = 1;
          break;
        case Operation::kBarrier:
          EXPECT_EQ(bus_factor(operation, ranks), 0);
          continue;
        default:
          seconds = (n - 1) / n;
      }
      EXPECT_DOUBLE_EQ(bus_factor(operation, ranks) / seconds, 1) << to_string(operation) << ranks;
    }
    if (operation == Operation::kBroadcast || operation == Operation::kReduce) continue;
    EXPECT_EQ(bus_factor(operation, 1), 0) << "alone there is no bus";
  }
  EXPECT_EQ(bus_factor(Operation::kSend, 7), 1);
}

}  // namespace
}  // namespace ringside::benchmark
