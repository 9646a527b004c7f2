// Every operation on a simulated world: the whole matrix, and large buffers once.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/comm/world_fixture.h"
#include "support/collective_matrix.h"

namespace ringside::sim {
namespace {

using test::CollectiveCase;

// One buffer for both, where NCCL says in-place buffers lie: the smaller one is the rank's block of
// the larger one.
template <typename T>
void place_in_one_buffer(const CollectiveCase& c, Rank& rank, const std::vector<T>& input,
                         const BufferSizes& sizes, CollectiveCall& call) {
  const std::size_t larger = std::max(sizes.send, sizes.recv);
  const std::size_t own_block = test::block_begin(c, rank.rank);
  std::vector<T> memory(larger);
  const bool send_is_block = sizes.send < sizes.recv;
  std::copy(input.begin(), input.end(),
            memory.begin() + static_cast<std::ptrdiff_t>(send_is_block ? own_block : 0));
  const DeviceArray whole = array_of(rank.device, memory);
  const auto part = [&](std::size_t size) {
    return size == larger ? whole : whole.slice(own_block, size);
  };
  call.send = part(sizes.send);
  call.recv = part(sizes.recv);
}

template <typename T>
void run_case(const CollectiveCase& c, Rank& rank, bool in_place) {
  const BufferSizes sizes = buffer_sizes(test::bare_call(c), rank.rank, c.ranks);
  std::vector<T> input(sizes.send);
  for (std::size_t i = 0; i < input.size(); ++i) {
    input[i] = test::contribution<T>(c.seed, rank.rank, i);
  }
  CollectiveCall call = test::bare_call(c);
  call.send = array_of(rank.device, input);
  call.recv = array_of(rank.device, std::vector<T>(sizes.recv));
  const bool may_be_in_place = c.operation != Operation::kAllToAll;
  if (in_place && may_be_in_place && sizes.send > 0 && sizes.recv > 0) {
    place_in_one_buffer(c, rank, input, sizes, call);
  }
  const DeviceArray result = call.recv;
  rank.communicator.call(std::move(call), communication(rank)).synchronize();
  if (c.operation == Operation::kBarrier) return;
  EXPECT_EQ(test::first_fault(c, rank.rank, result.data<T>()), "");
}

void run_cases(const std::vector<CollectiveCase>& cases, int ranks, bool stepwise,
               bool in_place = false) {
  WorldOptions options;
  options.size = ranks;
  options.stepwise_collectives = stepwise;
  const auto world = open_sim_world(options);
  world->run([&](Rank& rank) {
    for (const CollectiveCase& c : cases) {
      if (c.ranks != ranks) continue;
      visit_dtype(c.dtype, [&]<typename T>() { run_case<T>(c, rank, in_place); });
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
