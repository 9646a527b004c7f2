// The collectives of the meta world: it announces what the simulated world announces, for the table
// that this one is tested with.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backends/meta/meta_world.h"
#include "ringside/trace.h"
#include "sim/comm/sim_world.h"
#include "support/collective_matrix.h"
#include "support/collective_run.h"
#include "support/world_programs.h"

namespace ringside::test {
namespace {

/// The sub-communicators of all ranks, split without a thread per rank.
using Parts = std::vector<std::unique_ptr<Communicator>>;

Parts split_every_one(const std::vector<Communicator*>& parents,
                      int (*color_of)(const Communicator&)) {
  std::vector<std::function<std::unique_ptr<Communicator>()>> begun;
  for (Communicator* parent : parents) {
    begun.push_back(parent->begin_split(color_of(*parent), -parent->rank()));
  }
  Parts parts;
  for (const auto& finish : begun) parts.push_back(finish());
  return parts;
}

std::vector<Communicator*> pointers(const Parts& parts) {
  std::vector<Communicator*> result;
  for (const auto& part : parts) result.push_back(part.get());
  return result;
}

/// What `program` makes a world of `ranks` announce.
Trace announced(std::unique_ptr<World> (*open)(const WorldOptions&), int ranks,
                const std::function<void(World&)>& program) {
  TraceOptions recording;
  recording.values = false;
  Recorder recorder(recording);
  WorldOptions options;
  options.size = ranks;
  options.listener = &recorder;
  program(*open(options));
  return recorder.take({});
}

void expect_the_trace_of_simulated_devices(int ranks, const std::function<void(World&)>& program) {
  const Trace expected = announced(open_sim_world, ranks, program);
  const Trace found = announced(open_meta_world, ranks, program);
  ASSERT_FALSE(expected.ops.empty());
  ASSERT_EQ(found.ops.size(), expected.ops.size());
  for (std::size_t i = 0; i < expected.ops.size(); ++i) {
    EXPECT_EQ(found.ops[i], expected.ops[i])
        << ranks << " ranks, op " << i << ", " << expected.ops[i].name;
  }
}

class MetaCollectives : public testing::TestWithParam<int> {};

TEST_P(MetaCollectives, OfTheMatrixAreAnnounced) {
  const int ranks = GetParam();
  std::vector<CollectiveCase> cases = pairwise_matrix(ranks);
  for (const auto& more : {cases_with_counts(ranks), cases_with_parameters(ranks)}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  expect_the_trace_of_simulated_devices(ranks, [&](World& world) {
    world.run([&](Rank& rank) {
      for (const CollectiveCase& c : cases) run_case(c, rank);
    });
  });
}

TEST_P(MetaCollectives, MixInAGroup) {
  expect_the_trace_of_simulated_devices(GetParam(), [](World& world) {
    Parts parts;
    world.drive([&] {
      parts = split_every_one(world.local_communicators(),
                              [](const Communicator& parent) { return parent.rank() % 2; });
    });
    world.run(
        [&](Rank& rank) { mix_operations(rank, *parts[static_cast<std::size_t>(rank.rank)]); });
  });
}

TEST_P(MetaCollectives, OfCommunicatorsSplitFromSplitOnes) {
  expect_the_trace_of_simulated_devices(GetParam(), [](World& world) {
    std::vector<Parts> levels;
    for (int depth = 0; depth < 4; ++depth) {
      world.drive([&] {
        levels.push_back(split_every_one(
            levels.empty() ? world.local_communicators() : pointers(levels.back()), color_of_half));
      });
      world.run([&](Rank& rank) {
        for (const Parts& parts : levels) {
          expect_sum_of_ranks(*parts[static_cast<std::size_t>(rank.rank)], rank);
        }
      });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, MetaCollectives, testing::Range(1, 9),
                         [](const auto& tested) { return std::to_string(tested.param); });

}  // namespace
}  // namespace ringside::test
