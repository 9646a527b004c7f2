// Every operation on a simulated world: the whole matrix, and large buffers once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/comm/world_fixture.h"
#include "support/collective_matrix.h"
#include "support/collective_run.h"

namespace ringside::sim {
namespace {

using test::CollectiveCase;

void run_cases(const std::vector<CollectiveCase>& cases, int ranks, bool stepwise,
               bool in_place = false) {
  WorldOptions options;
  options.size = ranks;
  options.stepwise_collectives = stepwise;
  const auto world = open_sim_world(options);
  world->run([&](Rank& rank) {
    for (const CollectiveCase& c : cases) {
      if (c.ranks != ranks) continue;
      test::run_case(c, rank, in_place);
    }
  });
}

class CollectiveMatrix : public testing::TestWithParam<int> {};

TEST_P(CollectiveMatrix, EveryRankGetsTheReferenceFused) {
  run_cases(test::collective_matrix(), GetParam(), false);
}
TEST_P(CollectiveMatrix, EveryRankGetsTheReferenceStepwise) {
  run_cases(test::collective_matrix(), GetParam(), true);
}
TEST_P(CollectiveMatrix, EveryRankGetsTheReferenceInPlace) {
  run_cases(test::collective_matrix(), GetParam(), false, true);
  run_cases(test::collective_matrix(), GetParam(), true, true);
}
TEST_P(CollectiveMatrix, EveryRankGetsTheReferenceWithCountsPiecesAndNodes) {
  for (const bool stepwise : {false, true}) {
    for (const bool in_place : {false, true}) {
      run_cases(test::cases_with_counts(GetParam()), GetParam(), stepwise, in_place);
      run_cases(test::cases_with_parameters(GetParam()), GetParam(), stepwise, in_place);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveMatrix, testing::Range(1, 9),
                         [](const auto& tested) { return std::to_string(tested.param); });

TEST(LargeCollective, AMillionElementsOfEachOperation) {
  std::vector<CollectiveCase> cases;
  for (const Operation operation : test::kCollectives) {
    CollectiveCase c;
    c.operation = operation;
    c.ranks = 4;
    c.count = std::size_t{1} << 20;
    if (has_blocks(operation)) c.count /= 4;
    if (operation == Operation::kBarrier) c.count = 0;
    c.root = has_root(operation) ? 2 : 0;
    c.seed = 5;
    cases.push_back(c);
  }
  run_cases(cases, 4, false);
}

}  // namespace
}  // namespace ringside::sim
