// Every operation on a simulated world: the whole matrix, and large buffers once.
#include <gtest/gtest.h>

#include <vector>

#include "sim/comm/world_fixture.h"
#include "support/collective_matrix.h"

namespace ringside::sim {
namespace {

using test::CollectiveCase;

template <typename T>
void run_case(const CollectiveCase& c, Rank& rank) {
  const BufferSizes sizes = buffer_sizes(test::bare_call(c), rank.rank, c.ranks);
  std::vector<T> input(sizes.send);
  for (std::size_t i = 0; i < input.size(); ++i) {
    input[i] = test::contribution<T>(c.seed, rank.rank, i);
  }
  CollectiveCall call = test::bare_call(c);
  call.send = array_of(rank.device, input);
  call.recv = array_of(rank.device, std::vector<T>(sizes.recv));
  const DeviceArray result = call.recv;
  rank.communicator.call(std::move(call), communication(rank)).synchronize();
  if (c.operation == Operation::kBarrier) return;
  EXPECT_EQ(test::first_fault(c, rank.rank, result.data<T>()), "");
}

void run_cases(const std::vector<CollectiveCase>& cases, int ranks, bool stepwise) {
  WorldOptions options;
  options.size = ranks;
  options.stepwise_collectives = stepwise;
  const auto world = open_sim_world(options);
  world->run([&](Rank& rank) {
    for (const CollectiveCase& c : cases) {
      if (c.ranks != ranks) continue;
      visit_dtype(c.dtype, [&]<typename T>() { run_case<T>(c, rank); });
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
INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveMatrix, testing::Range(1, 9),
                         [](const auto& info) { return std::to_string(info.param); });

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
