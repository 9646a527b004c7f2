// The alpha-beta costs that --explain tells, against the formulas of docs/algorithms.md.
#include "cli/explain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>

namespace ringside::cli {
namespace {

constexpr CostModel kModel{3e-6, 2e-10};

const AlgorithmCost& cost_of(const Explanation& explanation, Algorithm algorithm) {
  for (const AlgorithmCost& cost : explanation.algorithms) {
    if (cost.algorithm == algorithm) return cost;
  }
  ADD_FAILURE() << to_string(algorithm) << " is not explained";
  return explanation.algorithms.front();
}

ScheduleRequest request_for(Operation operation, int ranks, std::size_t count) {
  ScheduleRequest request;
  request.operation = operation;
  request.ranks = ranks;
  request.count = count;
  request.border = Border::kEven;
  return request;
}

TEST(Explain, AllReduceCostsWhatTheFormulasSay) {
  for (const int ranks : {2, 4, 8, 16}) {
    const double n = ranks;
    const double d = std::log2(n);
    const std::size_t count = 1600;
    const double bytes = 4.0 * count;
    const double a = kModel.alpha;
    const double sb = kModel.beta * bytes;
    const Explanation explanation =
        explain(request_for(Operation::kAllReduce, ranks, count), kModel);
    const auto expect = [&](Algorithm algorithm, double seconds) {
      EXPECT_NEAR(cost_of(explanation, algorithm).seconds, seconds, 1e-6 * seconds)
          << to_string(algorithm) << " on " << ranks;
    };
    expect(Algorithm::kRing, 2 * (n - 1) * (a + sb / n));
    expect(Algorithm::kDirect, 2 * (n - 1) * (a + sb / n));
    expect(Algorithm::kStar, 2 * (n - 1) * (a + sb));
    expect(Algorithm::kTree, 2 * d * (a + sb));
    expect(Algorithm::kChain, 2 * (n - 1) * (a + sb));
    expect(Algorithm::kHalvingDoubling, 2 * d * a + 2 * sb * (n - 1) / n);
    EXPECT_EQ(explanation.bound.rounds, static_cast<std::size_t>(d));
    EXPECT_EQ(explanation.bound.bytes, static_cast<std::size_t>(2 * bytes * (n - 1) / n));
    for (const AlgorithmCost& cost : explanation.algorithms) {
      EXPECT_GE(cost.seconds, explanation.bound.seconds) << to_string(cost.algorithm);
      EXPECT_GE(std::max(cost.sent, cost.received), explanation.bound.bytes)
          << to_string(cost.algorithm);
    }
  }
}

// No algorithm of any operation beats its lower bound.
TEST(Explain, NoAlgorithmBeatsTheBound) {
  for (const Operation operation :
       {Operation::kBroadcast, Operation::kReduce, Operation::kScatter, Operation::kGather,
        Operation::kAllGather, Operation::kReduceScatter, Operation::kAllReduce,
        Operation::kBarrier, Operation::kSend, Operation::kAllToAll}) {
    for (int ranks = 1; ranks <= 12; ++ranks) {
      ScheduleRequest request =
          request_for(operation, ranks, operation == Operation::kBarrier ? 0 : 120);
      request.peer = ranks > 1 ? 1 : 0;
      if (operation == Operation::kSend && ranks == 1) continue;
      const Explanation explanation = explain(request, kModel);
      EXPECT_EQ(explanation.algorithms.front().algorithm, algorithms_for(operation).front());
      for (const AlgorithmCost& cost : explanation.algorithms) {
        // A star's messages are one round, but pass its port one by one.
        if (cost.algorithm != Algorithm::kStar) {
          EXPECT_GE(cost.rounds, explanation.bound.rounds)
              << to_string(operation) << " " << to_string(cost.algorithm) << " on " << ranks;
        }
        EXPECT_GE(cost.seconds * (1 + 1e-12), explanation.bound.seconds)
            << to_string(operation) << " " << to_string(cost.algorithm) << " on " << ranks;
        EXPECT_GE(std::max(cost.sent, cost.received), explanation.bound.bytes)
            << to_string(operation) << " " << to_string(cost.algorithm) << " on " << ranks;
      }
    }
  }
}

TEST(Explain, TheBusiestLinkOfAStarIsTheRoots) {
  ScheduleRequest request = request_for(Operation::kReduce, 5, 100);
  request.algorithm = Algorithm::kStar;
  request.root = 2;
  const Explanation explanation = explain(request, kModel);
  EXPECT_EQ(explanation.algorithms.front().algorithm, Algorithm::kStar);
  EXPECT_EQ(explanation.algorithms.front().link.destination, 2);
  EXPECT_EQ(explanation.algorithms.front().link.bytes, 400U);
  EXPECT_EQ(explanation.algorithms.front().received, 1600U);
}

TEST(Explain, SaysWhichIsFastest) {
  const auto fastest = [](Operation operation, std::size_t count) {
    std::string all;
    for (const std::string& conclusion :
         explain(request_for(operation, 8, count), CostModel{}).conclusions) {
      all += conclusion;
    }
    return all;
  };
  EXPECT_NE(fastest(Operation::kBroadcast, 1).find("size tree is the fastest"), std::string::npos);
  EXPECT_NE(fastest(Operation::kAllReduce, 100'000'000).find("size halving-doubling is"),
            std::string::npos);
}

// A terminal of 100 columns shows every line whole.
TEST(Explain, KeepsTo100Columns) {
  for (const Operation operation :
       {Operation::kBroadcast, Operation::kReduce, Operation::kScatter, Operation::kAllReduce,
        Operation::kAllGather, Operation::kReduceScatter, Operation::kAllToAll}) {
    std::istringstream text(explanation_text(explain(request_for(operation, 8, 8), kModel)));
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

}  // namespace
}  // namespace ringside::cli
