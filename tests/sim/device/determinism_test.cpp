// Results depend on stream order and events alone: not on the number of workers, not on timing.
#include <cstdint>

#include "sim/device/fixture.h"

namespace ringside::sim {
namespace {

/// A made-up training step on four devices: compute streams mix their own value, a ring of events
/// passes it on, and a barrier ends each round.
std::uint64_t checksum(const EngineOptions& options, int rounds) {
  constexpr int kRanks = 4;
  Machine machine(kRanks, options);
  Barrier barrier(machine, kRanks);
  std::array<std::uint64_t, kRanks> value{};
  std::array<std::uint64_t, kRanks> received{};
  machine.engine->run(machine.ranks, [&](int rank) {
    const auto mine = static_cast<std::size_t>(rank);
    const auto left = static_cast<std::size_t>((rank + kRanks - 1) % kRanks);
    Stream& compute = machine.compute(rank);
    Stream& communication = machine.communication(rank);
    for (int round = 0; round < rounds; ++round) {
      for (std::uint64_t k = 0; k < 4; ++k) {
        compute.enqueue([&value, mine, k](LaunchContext&) {
          value[mine] = value[mine] * 6364136223846793005U + mine + k;
        });
      }
      communication.wait(compute.record());
      barrier.enter(rank);
      communication.enqueue([&, mine, left](LaunchContext&) { received[mine] = value[left]; });
      barrier.enter(rank);
      compute.wait(communication.record());
      compute.enqueue([&, mine](LaunchContext&) { value[mine] ^= received[mine] >> 7U; });
      if (round % 3 == rank % 3) compute.synchronize();
    }
  });
  std::uint64_t sum = 0;
  for (const std::uint64_t v : value) sum = sum * 31 + v;
  return sum;
}

TEST(Determinism, NumberOfWorkersDoesNotMatter) {
  with_time_limit([] {
    const std::uint64_t expected = checksum({.workers = 1}, 50);
    for (const int workers : {0, 2, 3, 8}) EXPECT_EQ(checksum({.workers = workers}, 50), expected);
  });
}

TEST(Determinism, TimingDoesNotMatter) {
  with_time_limit([] {
    const std::uint64_t expected = checksum({}, 3);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const auto workers = static_cast<int>(seed % 4);
      ASSERT_EQ(checksum({.workers = workers, .random_delay_us = 40, .delay_seed = seed}, 3),
                expected);
    }
  });
}

}  // namespace
}  // namespace ringside::sim
