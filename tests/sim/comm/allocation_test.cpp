// What repeated collective calls take from the heap.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <vector>

#include "sim/comm/world_fixture.h"
#include "support/counted_allocations.h"

namespace ringside::sim {
namespace {

// What the calls of all ranks allocate, once they have been made a few times. All ranks call and
// wait in turns, so that none is ahead by more than a call.
std::int64_t allocations_of(int ranks, std::size_t count,
                            const std::function<Work(Rank&, const DeviceArray&)>& call) {
  std::atomic<std::int64_t> counted{0};
  with_time_limit([&] {
    const auto world = world_of(ranks);
    world->run([&](Rank& rank) {
      const DeviceArray array = array_of<float>(rank.device, std::vector<float>(count, 1.0F));
      const auto repeat = [&](int times) {
        for (int i = 0; i < times; ++i) call(rank, array).synchronize();
        rank.communicator.barrier(communication(rank)).synchronize();
      };
      for (int i = 0; i < 100; ++i) repeat(10);
      const std::int64_t before = test::allocations_so_far();
      repeat(200);
      if (rank.rank == 0) counted = test::allocations_so_far() - before;
    });
  });
  return counted;
}

// Of 400 or 600 calls. A list may grow once more when a rank is further ahead than ever before.
constexpr std::int64_t kNowAndThen = 20;

TEST(Allocations, RepeatedCallsHardlyMakeAny) {
  for (const std::size_t count : {std::size_t{16}, std::size_t{1} << 18U}) {
    SCOPED_TRACE(count);
    const auto all_reduce = [&](Rank& rank, const DeviceArray& array) {
      return rank.communicator.all_reduce(array, array, count, ReduceOp::kSum, communication(rank));
    };
    const auto broadcast = [&](Rank& rank, const DeviceArray& array) {
      return rank.communicator.broadcast(array, array, count, 0, communication(rank));
    };
    const auto message = [&](Rank& rank, const DeviceArray& array) {
      Communicator& communicator = rank.communicator;
      return rank.rank == 0 ? communicator.send(array, count, 1, communication(rank))
                            : communicator.recv(array, count, 0, communication(rank));
    };
    EXPECT_LT(allocations_of(3, count, all_reduce), kNowAndThen);
    EXPECT_LT(allocations_of(12, count, all_reduce), 3 * kNowAndThen);
    EXPECT_LT(allocations_of(3, count, broadcast), kNowAndThen);
    EXPECT_LT(allocations_of(2, count, message), kNowAndThen);
  }
}

}  // namespace
}  // namespace ringside::sim
