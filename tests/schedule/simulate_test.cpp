// Rounds on small numbers: what each rank holds, against sums worked out by hand.

#include "schedule/simulate.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "schedule/ownership.h"

namespace ringside::schedule {
namespace {

Schedule make(Operation operation, Algorithm algorithm, int ranks, std::size_t count,
              DType dtype = DType::kFloat64, int root = 0) {
  ScheduleRequest request;
  request.operation = operation;
  request.algorithm = algorithm;
  request.ranks = ranks;
  request.count = count;
  request.dtype = dtype;
  request.root = root;
  request.border = Border::kEven;
  return make_schedule(request);
}

double rank_times_ten(int rank, std::size_t element) {
  return (rank + 1) * 10 + static_cast<double>(element);
}

const std::function<void(const Stage&)> kIgnore = [](const Stage&) {};

TEST(Simulate, RingAllReduceRoundByRound) {
  const Schedule schedule = make(Operation::kAllReduce, Algorithm::kRing, 2, 2);
  std::vector<std::vector<Values>> seen;
  simulate(schedule, ReduceOp::kSum, rank_times_ten,
           [&](const Stage& stage) { seen.push_back(stage.values); });
  const std::vector<std::vector<Values>> expected = {
      {{10, 11}, {20, 21}},
      {{30, 11}, {20, 32}},  // rank 0 sent chunk 1, rank 1 chunk 0
      {{30, 32}, {30, 32}},
  };
  EXPECT_EQ(seen, expected);
}

TEST(Simulate, ARankHoldsNothingBeforeItReceives) {
  const Schedule schedule = make(Operation::kBroadcast, Algorithm::kTree, 4, 1, DType::kInt32, 2);
  std::vector<std::size_t> holders;
  const auto values = simulate(schedule, ReduceOp::kSum, rank_times_ten, [&](const Stage& stage) {
    std::size_t count = 0;
    for (const Values& buffer : stage.values) count += buffer[0].has_value() ? 1 : 0;
    holders.push_back(count);
  });
  EXPECT_EQ(holders, (std::vector<std::size_t>{1, 2, 4}));
  for (const Values& buffer : values) EXPECT_EQ(buffer[0], 30);
}

TEST(Simulate, EveryOperationAndAlgorithmGivesItsResult) {
  for (const Operation operation :
       {Operation::kBroadcast, Operation::kReduce, Operation::kAllReduce, Operation::kScatter,
        Operation::kGather, Operation::kAllGather, Operation::kReduceScatter}) {
    for (const Algorithm algorithm : algorithms_for(operation)) {
      for (int ranks = 1; ranks <= 5; ++ranks) {
        const int root = ranks - 1;
        const Schedule schedule = make(operation, algorithm, ranks, 3, DType::kFloat64, root);
        const auto values = simulate(schedule, ReduceOp::kSum, rank_times_ten, kIgnore);
        for (int rank = 0; rank < ranks; ++rank) {
          const Range out = output_range(schedule, rank);
          for (std::size_t i = out.begin; i < out.end; ++i) {
            const int block_owner = static_cast<int>(i / 3);
            const double sum = 10.0 * ranks * (ranks + 1) / 2 + ranks * static_cast<double>(i);
            const double expected = combines(operation) ? sum
                                    : has_root(operation) && operation != Operation::kGather
                                        ? rank_times_ten(root, i)
                                        : rank_times_ten(block_owner, i);
            EXPECT_EQ(values[static_cast<std::size_t>(rank)][i], expected)
                << to_string(operation) << " " << to_string(algorithm) << " on " << ranks;
          }
        }
      }
    }
  }
}

TEST(Simulate, AverageFollowsNccl) {
  const auto three = [](int rank, std::size_t) { return rank + 1.0; };
  // Floating: inputs times 1/3, then the sum. Whole numbers: the sum, then one division.
  std::vector<StageKind> kinds;
  const auto floats =
      simulate(make(Operation::kAllReduce, Algorithm::kStar, 3, 1, DType::kFloat32), ReduceOp::kAvg,
               three, [&](const Stage& stage) { kinds.push_back(stage.kind); });
  const float third = 1.0f / 3.0f;
  EXPECT_EQ(floats[0][0], static_cast<double>((1 * third + 2 * third) + 3 * third));
  EXPECT_EQ(kinds, (std::vector<StageKind>{StageKind::kInput, StageKind::kScaled, StageKind::kRound,
                                           StageKind::kRound}));
  const auto whole = simulate(
      make(Operation::kAllReduce, Algorithm::kRing, 2, 1, DType::kInt32), ReduceOp::kAvg,
      [](int rank, std::size_t) { return rank - 2.0; }, kIgnore);
  EXPECT_EQ(whole[0][0], -1);  // (-2 + -1) / 2, toward zero
}

TEST(Simulate, MinAndMax) {
  const Schedule schedule = make(Operation::kReduce, Algorithm::kRing, 3, 2, DType::kInt64, 1);
  EXPECT_EQ(simulate(schedule, ReduceOp::kMax, rank_times_ten, kIgnore)[1], (Values{30, 31}));
  EXPECT_EQ(simulate(schedule, ReduceOp::kMin, rank_times_ten, kIgnore)[1], (Values{10, 11}));
}

}  // namespace
}  // namespace ringside::schedule
