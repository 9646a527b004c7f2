// The simulated world: its options, and that timing decides nothing.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "sim/comm/world_fixture.h"
#include "support/collective_case.h"
#include "support/selection.h"

namespace ringside::sim {
namespace {

std::string refusal(const WorldOptions& options) {
  const Error error = error_of([&] { open_sim_world(options); });
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
  return error.what();
}

TEST(SimWorld, RefusesOptionsThatCannotBeRight) {
  WorldOptions options;
  options.size = 0;
  EXPECT_EQ(refusal(options), "sim world: 0 ranks: must be from 1 to 16384");
  options.size = 1000000;
  EXPECT_EQ(refusal(options), "sim world: 1000000 ranks: must be from 1 to 16384");
  options = {};
  options.workers = -1;
  EXPECT_EQ(refusal(options), "sim world: -1 workers: must be at least 1, or 0 for one per core");
  options = {};
  options.random_delay_us = -5;
  EXPECT_EQ(refusal(options), "sim world: random delay of -5 us: must not be negative");
  options = {};
  options.size = 2;
  options.memory_capacities = {1024};
  EXPECT_EQ(refusal(options),
            "sim world: 1 memory capacities for 2 devices: one per device is needed");
}

TEST(SimWorld, DevicesHaveNamesAndCapacities) {
  WorldOptions options;
  options.size = 2;
  options.memory_capacity = 4096;
  options.memory_capacities = {1024, 2048};
  const auto world = open_sim_world(options);
  EXPECT_EQ(world->device(1).name(), "sim:1");
  EXPECT_EQ(world->device(1).rank(), 1);
  EXPECT_EQ(world->device(0).memory().capacity, 1024U);
  EXPECT_EQ(world->device(1).memory().capacity, 2048U);
  EXPECT_EQ(error_of([&] { world->device(2); }).kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_of([&] { world->communicator(-1); }).kind(), ErrorKind::kInvalidArgument);
}

TEST(SimWorld, ArraysOfTheWrongDeviceStreamAreRefused) {
  const auto world = world_of(2);
  world->drive([&] {
    Stream& other = world->device(1).stream(StreamKind::kCommunication);
    const Error error = error_of([&] { world->communicator(0).barrier(other); });
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_EQ(std::string(error.what()),
              "barrier(): the stream belongs to device sim:1, the communicator to sim:0");
  });
}

// A little of everything; the checksum covers the bits of every rank's results.
std::uint64_t checksum_of_program(int delay_us, std::uint64_t seed, int workers) {
  constexpr int kRanks = 3;
  WorldOptions options;
  options.size = kRanks;
  options.random_delay_us = delay_us;
  options.delay_seed = seed;
  options.workers = workers;
  const auto world = open_sim_world(options);
  std::vector<std::uint64_t> sums(kRanks, 0);
  world->run([&](Rank& rank) {
    std::vector<float> values(100);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = test::contribution<float>(3, rank.rank, i);
    }
    const DeviceArray a = array_of(rank.device, values);
    const DeviceArray b = array_of(rank.device, std::vector<float>(300));
    Stream& stream = communication(rank);
    const auto part = rank.communicator.split(rank.rank == 0 ? 0 : 1, 0);
    rank.communicator.all_reduce(a, a, 100, ReduceOp::kAvg, stream);
    part->all_reduce(a, a, 50, ReduceOp::kSum, stream);
    {
      const GroupScope group(rank.communicator);
      rank.communicator.send(a, 10, (rank.rank + 1) % kRanks, stream);
      rank.communicator.recv(b, 10, (rank.rank + 2) % kRanks, stream);
      rank.communicator.all_gather(a.slice(10, 20), b.slice(40, 60), 20, stream);
    }
    const Work last = rank.communicator.reduce_scatter(b.slice(0, 300), a.slice(0, 100), 100,
                                                       ReduceOp::kSum, stream);
    last.wait(rank.device.compute());
    rank.device.compute().enqueue(
        [&sum = sums[static_cast<std::size_t>(rank.rank)], a](LaunchContext&) {
          for (const float value : a.elements<float>()) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &value, sizeof bits);
            sum = sum * 1000003 + bits;
          }
        });
  });
  std::uint64_t checksum = 0;
  for (const std::uint64_t sum : sums) checksum = checksum * 31 + sum;
  return checksum;
}

TEST(SimWorld, AThousandRunsWithRandomDelaysGiveOneChecksum) {
  const int runs = test::selects_pairwise() ? 100 : 1000;
  std::map<std::uint64_t, int> checksums;
  for (int run = 0; run < runs; ++run) {
    ++checksums[checksum_of_program(run % 4 == 0 ? 0 : 30, static_cast<std::uint64_t>(run),
                                    run % 3)];
  }
  EXPECT_EQ(checksums.size(), 1U);
  EXPECT_EQ(checksums.begin()->second, runs);
}

}  // namespace
}  // namespace ringside::sim
