// The numbers of a benchmark: exact in every dtype, and told apart when they are in a wrong place.
#include "benchmark/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "support/collective_case.h"

namespace ringside::benchmark {
namespace {

double rounded(double value, DType dtype) {
  return visit_dtype(dtype,
                     [&]<typename T>() { return static_cast<double>(static_cast<T>(value)); });
}

TEST(Pattern, SumsAndProductsOfAllRanksAreExactInEveryDtype) {
  for (const DType dtype : test::kDTypes) {
    for (const int ranks : {1, 2, 7, 8, 100, 255, 257, 1024}) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax}) {
        const Pattern pattern(Operation::kAllReduce, dtype, op, 0, ranks);
        EXPECT_EQ(pattern.tolerance(), 0);
        const std::vector<ExpectedPart> expected = pattern.expected(0, 5);
        ASSERT_EQ(expected.size(), 1U);
        std::set<double> different;
        for (const double value : *expected.front().values) {
          ASSERT_EQ(rounded(value, dtype), value)
              << to_string(dtype) << ' ' << ranks << ' ' << to_string(op);
          different.insert(value);
        }
        // Of the least and the largest of many numbers all elements may be the same.
        if (op == ReduceOp::kMin || op == ReduceOp::kMax) continue;
        EXPECT_GT(different.size(), 1U) << to_string(dtype) << ' ' << ranks << ' ' << to_string(op);
      }
    }
  }
}

TEST(Pattern, EveryRankCounts) {
  for (const int ranks : {2, 9, 300, 1024}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd}) {
      const Pattern pattern(Operation::kAllReduce, DType::kBFloat16, op, 0, ranks);
      const double neutral = op == ReduceOp::kSum ? 0 : 1;
      for (int rank = 0; rank < ranks; ++rank) {
        const Period& values = pattern.contribution(rank);
        EXPECT_TRUE(std::any_of(values.begin(), values.end(),
                                [&](double value) { return value != neutral; }))
            << rank << " of " << ranks;
      }
    }
  }
}

TEST(Pattern, TheAverageOfWholeNumbersIsCutAndOfFloatsRounded) {
  const Pattern whole(Operation::kReduce, DType::kInt32, ReduceOp::kAvg, 1, 3);
  EXPECT_EQ(whole.tolerance(), 0);
  EXPECT_TRUE(whole.expected(0, 4).empty()) << "the root is rank 1";
  const Period& means = *whole.expected(1, 4).front().values;
  for (std::size_t i = 0; i < kPeriod; ++i) {
    int sum = 0;
    for (int rank = 0; rank < 3; ++rank) sum += static_cast<int>(whole.contribution(rank)[i]);
    EXPECT_EQ(means[i], sum / 3);
  }
  const Pattern floats(Operation::kReduce, DType::kBFloat16, ReduceOp::kAvg, 1, 3);
  EXPECT_GT(floats.tolerance(), 0);
}

TEST(Pattern, ExpectsWhatTheOperationsAreDefinedToGive) {
  constexpr int kRanks = 3;
  constexpr std::size_t kCount = 1500;  // more than a period
  const auto values_of = [&](Operation operation, int rank, int root) {
    const Pattern pattern(operation, DType::kInt32, ReduceOp::kSum, root, kRanks);
    std::vector<double> values;
    for (const ExpectedPart& part : pattern.expected(rank, kCount)) {
      for (std::size_t i = 0; i < part.count; ++i) {
        values.push_back((*part.values)[(part.first + i) % kPeriod]);
      }
    }
    return values;
  };
  const auto sent = [&](Operation operation, int rank, std::size_t element) {
    return Pattern(operation, DType::kInt32, ReduceOp::kSum, 0, kRanks)
        .contribution(rank)[element % kPeriod];
  };
  for (const std::size_t i : {std::size_t{0}, std::size_t{7}, kCount - 1}) {
    EXPECT_EQ(values_of(Operation::kBroadcast, 1, 2)[i], sent(Operation::kBroadcast, 2, i));
    EXPECT_EQ(values_of(Operation::kScatter, 1, 2)[i], sent(Operation::kScatter, 2, kCount + i));
    EXPECT_EQ(values_of(Operation::kSend, 0, 0)[i], sent(Operation::kSend, 2, i));
    double sum = 0;
    for (std::size_t other = 0; other < kRanks; ++other) {
      const int rank = static_cast<int>(other);
      sum += sent(Operation::kReduceScatter, rank, 2 * kCount + i);
      EXPECT_EQ(values_of(Operation::kAllGather, 0, 0)[other * kCount + i],
                sent(Operation::kAllGather, rank, i));
      EXPECT_EQ(values_of(Operation::kGather, 1, 1)[other * kCount + i],
                sent(Operation::kGather, rank, i));
      EXPECT_EQ(values_of(Operation::kAllToAll, 1, 0)[other * kCount + i],
                sent(Operation::kAllToAll, rank, kCount + i));
    }
    EXPECT_EQ(values_of(Operation::kReduceScatter, 2, 0)[i], sum);
  }
  EXPECT_TRUE(values_of(Operation::kGather, 0, 1).empty());
  EXPECT_TRUE(values_of(Operation::kBarrier, 0, 0).empty());
}

TEST(CountWrong, SeesOneElementInEveryDtypeAndWhatIsNoNumber) {
  for (const DType dtype : test::kDTypes) {
    const Pattern pattern(Operation::kAllReduce, dtype, ReduceOp::kSum, 0, 4);
    const Period& values = *pattern.expected(0, 1).front().values;
    std::vector<std::byte> elements = elements_of(values, dtype, 3);
    const std::size_t size = size_of(dtype);
    ASSERT_EQ(elements.size(), 3 * kPeriod * size);
    EXPECT_EQ(count_wrong(elements, dtype, values, 0, 0), 0U);
    EXPECT_EQ(count_wrong(std::span(elements).subspan(5 * size), dtype, values, 5, 0), 0U);
    EXPECT_GT(count_wrong(elements, dtype, values, 1, 0), kPeriod) << "one element further";
    const auto place = elements.begin() + static_cast<std::ptrdiff_t>(1500 * size);
    std::fill_n(place, size, std::byte{0xFF});
    EXPECT_EQ(count_wrong(elements, dtype, values, 0, 0), 1U) << to_string(dtype);
    EXPECT_EQ(count_wrong(elements, dtype, values, 0, is_floating(dtype) ? 1e30 : 0), 1U);
    std::copy_n(elements.begin(), size, place);
    const bool same = values[0] == values[1500 % kPeriod];
    EXPECT_EQ(count_wrong(elements, dtype, values, 0, 0), same ? 0U : 1U) << to_string(dtype);
  }
}

TEST(CountWrong, AllowsTheTolerance) {
  const Period values{1, 2, 3};
  const std::vector<std::byte> elements = elements_of({1, 2.25, 3.5}, DType::kFloat32, 1);
  EXPECT_EQ(count_wrong(elements, DType::kFloat32, values, 0, 0), 2U);
  EXPECT_EQ(count_wrong(elements, DType::kFloat32, values, 0, 0.25), 1U);
  EXPECT_EQ(count_wrong(elements, DType::kFloat32, values, 0, 0.5), 0U);
}

}  // namespace
}  // namespace ringside::benchmark
