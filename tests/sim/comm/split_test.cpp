// Sub-communicators: who is in, in which order, under which name, and that they count for
// themselves.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sim/comm/world_fixture.h"
#include "support/world_programs.h"

namespace ringside::sim {
namespace {

std::vector<int> world_ranks(const Communicator& communicator) {
  const auto ranks = communicator.world_ranks();
  return {ranks.begin(), ranks.end()};
}

TEST(Split, ByColorThenKeyThenRank) {
  with_time_limit([] {
    world_of(6)->run([](Rank& rank) {
      // Even ranks in reverse order; odd ranks with equal keys, so by rank.
      const bool even = rank.rank % 2 == 0;
      const auto part = rank.communicator.split(even ? 1 : 0, even ? -rank.rank : 7);
      ASSERT_NE(part, nullptr);
      EXPECT_EQ(world_ranks(*part),
                even ? (std::vector<int>{4, 2, 0}) : (std::vector<int>{1, 3, 5}));
      EXPECT_EQ(part->world_ranks()[static_cast<std::size_t>(part->rank())], rank.rank);
      EXPECT_EQ(part->size(), 3);
      const DeviceArray sum = array_of<std::int32_t>(rank.device, {rank.rank});
      part->all_reduce(sum, sum, 1, ReduceOp::kSum, communication(rank)).synchronize();
      EXPECT_EQ(sum.data<std::int32_t>()[0], even ? 6 : 9);
    });
  });
}

TEST(Split, ANegativeColorGetsNone) {
  with_time_limit([] {
    world_of(3)->run([](Rank& rank) {
      const auto part = rank.communicator.split(rank.rank == 1 ? -1 : 0, 0);
      EXPECT_EQ(part == nullptr, rank.rank == 1);
      expect_good_collective(rank);
    });
  });
}

TEST(Split, OfASplitAndItsErrorsHaveNames) {
  with_time_limit([] {
    const auto world = world_of(4);
    Caught caught(4);
    world->run([&](Rank& rank) {
      const auto half = rank.communicator.split(rank.rank / 2, 0);
      const auto whole = half->split(0, -half->rank());
      EXPECT_EQ(world_ranks(*whole),
                rank.rank < 2 ? (std::vector<int>{1, 0}) : (std::vector<int>{3, 2}));
      const DeviceArray data = array_of<float>(rank.device, {1, 2});
      caught.in(rank.rank, [&] {
        whole->all_reduce(data, data, rank.rank == 3 ? 2 : 1, ReduceOp::kSum, communication(rank))
            .synchronize();
      });
      whole->barrier(communication(rank)).synchronize();
    });
    EXPECT_FALSE(caught.any(0));
    EXPECT_FALSE(caught.any(1));
    EXPECT_EQ(caught.text(2),
              "call 1 of communicator 2000001 (world ranks 3, 2): rank 0 called "
              "all-reduce(count=2, float32, sum), rank 1 called all-reduce(count=1, float32, sum)");
  });
}

TEST(Split, KeepsTheDefaults) {
  with_time_limit([] {
    world_of(2)->run([](Rank& rank) {
      rank.communicator.set_defaults({Algorithm::kTree, Direction::kDown, Border::kGloo});
      const auto part = rank.communicator.split(0, 0);
      EXPECT_EQ(part->defaults().algorithm, Algorithm::kTree);
      EXPECT_EQ(part->defaults().border, Border::kGloo);
    });
  });
}

TEST(SplitAll, WorksForTheThreadThatDrivesAllRanks) {
  with_time_limit([] {
    const auto world = world_of(4);
    world->drive([&] {
      const auto parts = split_all(*world, {0, -1, 0, 0}, {2, 0, 1, 0});
      ASSERT_EQ(parts.size(), 4U);
      EXPECT_EQ(parts[1], nullptr);
      EXPECT_EQ(world_ranks(*parts[0]), (std::vector<int>{3, 2, 0}));
      EXPECT_EQ(parts[3]->rank(), 0);
      EXPECT_EQ(error_of([&] { split_all(*world, {0}, {0}); }).kind(), ErrorKind::kInvalidArgument);
    });
  });
}

// A sub-communicator may go before its last operation has run.
TEST(Split, ItsWorkOutlivesIt) {
  with_time_limit([] {
    world_of(2)->run([](Rank& rank) {
      const DeviceArray data = array_of<float>(rank.device, {1});
      Work work;
      {
        const auto part = rank.communicator.split(0, 0);
        work = part->all_reduce(data, data, 1, ReduceOp::kSum, communication(rank));
      }
      work.synchronize();
      EXPECT_EQ(data.data<float>()[0], 2);
    });
  });
}

// Numbers stay apart and positive however deep communicators are split.
TEST(Split, OfSplitsOfSplits) {
  with_time_limit([] { world_of(8)->run(test::split_splits); });
}

}  // namespace
}  // namespace ringside::sim
