// Sends, receives and groups.
#include <gtest/gtest.h>

#include <vector>

#include "sim/comm/world_fixture.h"
#include "support/world_programs.h"

namespace ringside::sim {
namespace {

TEST(Messages, ArriveInTheOrderTheyWereSent) {
  with_time_limit([] {
    world_of(2)->run([](Rank& rank) {
      std::vector<DeviceArray> arrays;
      for (int i = 0; i < 10; ++i) {
        arrays.push_back(array_of<std::int32_t>(
            rank.device, {rank.rank == 0 ? i : -1, rank.rank == 0 ? -i : 0}));
      }
      for (const DeviceArray& array : arrays) {
        if (rank.rank == 0) {
          rank.communicator.send(array, 2, 1, communication(rank));
        } else {
          rank.communicator.recv(array, 2, 0, communication(rank));
        }
      }
      rank.device.synchronize();
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(values_of<std::int32_t>(arrays[static_cast<std::size_t>(i)]),
                  (std::vector<std::int32_t>{i, -i}));
      }
    });
  });
}

// Every rank to every rank, itself included, in one group; one value tells sender, receiver and
// place.
template <typename T>
void expect_messages_to_all(Rank& rank, std::size_t count) {
  const int n = rank.communicator.size();
  const auto value = [&](int from, int to, std::size_t i) {
    const int number = 100 * from + 10 * to + static_cast<int>(i % 7);
    return static_cast<T>(number);
  };
  std::vector<DeviceArray> sent;
  std::vector<DeviceArray> received;
  for (int peer = 0; peer < n; ++peer) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = value(rank.rank, peer, i);
    sent.push_back(array_of(rank.device, values));
    received.push_back(array_of(rank.device, std::vector<T>(count, static_cast<T>(-1))));
  }
  {
    const GroupScope group(rank.communicator);
    for (int peer = 0; peer < n; ++peer) {
      const auto index = static_cast<std::size_t>(peer);
      rank.communicator.send(sent[index], count, peer, communication(rank));
      rank.communicator.recv(received[index], count, peer, communication(rank));
    }
  }
  communication(rank).synchronize();
  for (int peer = 0; peer < n; ++peer) {
    const std::vector<T> values = values_of<T>(received[static_cast<std::size_t>(peer)]);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(values[i], value(peer, rank.rank, i)) << "from " << peer << " to " << rank.rank;
    }
  }
}

TEST(Messages, OfEverySizeAndTypeBetweenAllRanks) {
  for (const bool stepwise : {false, true}) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      with_time_limit([&] {
        WorldOptions options;
        options.size = ranks;
        options.stepwise_collectives = stepwise;
        open_sim_world(options)->run([](Rank& rank) {
          for (const std::size_t count : {0, 1, 7, 1000}) {
            expect_messages_to_all<float>(rank, count);
            expect_messages_to_all<double>(rank, count);
            expect_messages_to_all<std::int32_t>(rank, count);
            expect_messages_to_all<std::int64_t>(rank, count);
          }
        });
      });
    }
  }
}

TEST(Messages, OfAMillionElements) {
  with_time_limit([] {
    world_of(2)->run([](Rank& rank) { expect_messages_to_all<float>(rank, std::size_t{1} << 20); });
  });
}

TEST(Messages, PairsDoNotMix) {
  with_time_limit([] {
    world_of(3)->run([](Rank& rank) {
      const DeviceArray own = array_of<std::int64_t>(rank.device, {rank.rank});
      const DeviceArray first = array_of<std::int64_t>(rank.device, {-1});
      const DeviceArray second = array_of<std::int64_t>(rank.device, {-1});
      Stream& stream = communication(rank);
      if (rank.rank < 2) {
        rank.communicator.send(own, 1, 2, stream).synchronize();
      } else {
        rank.communicator.recv(second, 1, 1, stream).synchronize();
        rank.communicator.recv(first, 1, 0, stream).synchronize();
        EXPECT_EQ(first.data<std::int64_t>()[0], 0);
        EXPECT_EQ(second.data<std::int64_t>()[0], 1);
      }
    });
  });
}

// Every rank sends to the next and receives from the one before: only a group lets that work.
TEST(Groups, LetSendsAndReceivesProgressTogether) {
  with_time_limit([] {
    world_of(5)->run([](Rank& rank) {
      const int n = rank.communicator.size();
      const DeviceArray own = array_of<std::int32_t>(rank.device, {rank.rank});
      const DeviceArray received = array_of<std::int32_t>(rank.device, {-1});
      GroupScope group(rank.communicator);
      rank.communicator.send(own, 1, (rank.rank + 1) % n, communication(rank));
      const Work work =
          rank.communicator.recv(received, 1, (rank.rank + n - 1) % n, communication(rank));
      EXPECT_FALSE(work.done());
      group.end();
      work.synchronize();
      EXPECT_EQ(received.data<std::int32_t>()[0], (rank.rank + n - 1) % n);
    });
  });
}

TEST(Groups, ARankMaySendToItself) {
  with_time_limit([] {
    world_of(1)->run([](Rank& rank) {
      const DeviceArray from = array_of<float>(rank.device, {3});
      const DeviceArray into = array_of<float>(rank.device, {0});
      {
        const GroupScope group(rank.communicator);
        rank.communicator.send(from, 1, 0, communication(rank));
        rank.communicator.recv(into, 1, 0, communication(rank));
      }
      rank.device.synchronize();
      EXPECT_EQ(into.data<float>()[0], 3);
    });
  });
}

// All-to-all as NCCL unrolls it.
TEST(Groups, AllToAll) {
  with_time_limit([] {
    constexpr int kRanks = 4;
    world_of(kRanks)->run([](Rank& rank) {
      std::vector<std::int32_t> blocks;
      for (int peer = 0; peer < kRanks; ++peer) blocks.push_back(10 * rank.rank + peer);
      const DeviceArray from = array_of(rank.device, blocks);
      const DeviceArray into = array_of(rank.device, std::vector<std::int32_t>(kRanks));
      {
        const GroupScope group(rank.communicator);
        for (int peer = 0; peer < kRanks; ++peer) {
          const auto block = static_cast<std::size_t>(peer);
          rank.communicator.send(from.slice(block, 1), 1, peer, communication(rank));
          rank.communicator.recv(into.slice(block, 1), 1, peer, communication(rank));
        }
      }
      communication(rank).synchronize();
      for (int peer = 0; peer < kRanks; ++peer) {
        EXPECT_EQ(into.data<std::int32_t>()[peer], 10 * peer + rank.rank);
      }
    });
  });
}

// Several collectives of one communicator in a group, and others on a second stream.
TEST(Groups, MixCollectivesAndStreams) {
  with_time_limit([] {
    world_of(3)->run([](Rank& rank) {
      const auto value = static_cast<float>(rank.rank + 1);
      const DeviceArray a = array_of<float>(rank.device, {value});
      const DeviceArray b = array_of<float>(rank.device, {value});
      const DeviceArray c = array_of<float>(rank.device, {value});
      communication(rank).synchronize();
      std::vector<Work> works;
      {
        const GroupScope outer(rank.communicator);
        works.push_back(rank.communicator.all_reduce(a, a, 1, ReduceOp::kSum, communication(rank)));
        {
          const GroupScope inner(rank.communicator);
          works.push_back(
              rank.communicator.all_reduce(b, b, 1, ReduceOp::kMax, rank.device.compute()));
        }
        EXPECT_FALSE(works.back().done());
        works.push_back(rank.communicator.broadcast(c, c, 1, 2, communication(rank)));
      }
      for (const Work& work : works) work.synchronize();
      EXPECT_EQ(a.data<float>()[0], 6);
      EXPECT_EQ(b.data<float>()[0], 3);
      EXPECT_EQ(c.data<float>()[0], 3);
    });
  });
}

// Rank 1 names the communicators the other way round: their calls are one joint operation.
TEST(Groups, OverTwoCommunicatorsAreOneOperation) {
  with_time_limit([] {
    world_of(2)->run([](Rank& rank) {
      const auto second = rank.communicator.split(0, 0);
      const DeviceArray a = array_of<float>(rank.device, {1});
      const DeviceArray b = array_of<float>(rank.device, {2});
      std::vector<Communicator*> both{&rank.communicator, second.get()};
      if (rank.rank == 1) std::swap(both[0], both[1]);
      {
        const GroupScope group(both);
        for (Communicator* communicator : both) {
          const DeviceArray& data = communicator == second.get() ? b : a;
          communicator->all_reduce(data, data, 1, ReduceOp::kSum, communication(rank));
        }
      }
      communication(rank).synchronize();
      EXPECT_EQ(a.data<float>()[0], 2);
      EXPECT_EQ(b.data<float>()[0], 4);
    });
  });
}

TEST(Groups, AnExceptionDropsTheCallsOfTheGroup) {
  with_time_limit([] {
    world_of(2)->run([](Rank& rank) {
      const DeviceArray data = array_of<float>(rank.device, {1});
      Work dropped;
      try {
        const GroupScope group(rank.communicator);
        dropped = rank.communicator.all_reduce(data, data, 1, ReduceOp::kSum, communication(rank));
        rank.communicator.all_reduce(data, data, 2, ReduceOp::kSum, communication(rank));
        FAIL() << "two elements of an array of one";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
      }
      EXPECT_FALSE(dropped.done());
      EXPECT_EQ(error_of([&] { dropped.synchronize(); }).kind(), ErrorKind::kInvalidArgument);
      expect_good_collective(rank);
      EXPECT_EQ(data.data<float>()[0], 1);
    });
  });
}

// One thread drives all ranks, as DataParallel does.
TEST(Groups, OneThreadDrivesAllRanks) {
  with_time_limit([] {
    const auto world = world_of(4);
    world->drive([&] {
      std::vector<DeviceArray> arrays;
      for (int rank = 0; rank < 4; ++rank) {
        arrays.push_back(array_of<float>(world->device(rank), {static_cast<float>(rank)}));
      }
      const auto communicators = world->local_communicators();
      GroupScope group(communicators);
      for (int rank = 0; rank < 4; ++rank) {
        const DeviceArray& array = arrays[static_cast<std::size_t>(rank)];
        communicators[static_cast<std::size_t>(rank)]->all_reduce(
            array, array, 1, ReduceOp::kSum,
            world->device(rank).stream(StreamKind::kCommunication));
      }
      group.end();
      for (int rank = 0; rank < 4; ++rank) {
        world->device(rank).synchronize();
        EXPECT_EQ(arrays[static_cast<std::size_t>(rank)].data<float>()[0], 6);
      }
    });
  });
}

// Work::wait makes another stream wait, not the host.
TEST(Work, WaitOrdersAnotherStream) {
  with_time_limit([] {
    world_of(2)->run([](Rank& rank) {
      const DeviceArray data = array_of<float>(rank.device, {1});
      const Work work =
          rank.communicator.all_reduce(data, data, 1, ReduceOp::kSum, communication(rank));
      work.wait(rank.device.compute());
      float seen = 0;
      rank.device.compute().enqueue([&](LaunchContext&) { seen = data.data<float>()[0]; });
      rank.device.compute().synchronize();
      EXPECT_EQ(seen, 2);
      EXPECT_TRUE(work.done());
    });
  });
}

TEST(Groups, MixOperations) {
  with_time_limit([] {
    world_of(4)->run([](Rank& rank) {
      const auto half = rank.communicator.split(rank.rank / 2, 0);
      test::mix_operations(rank, *half);
    });
  });
}

// Ten rows over four ranks, and back to all of them.
TEST(Groups, AllGatherTakesCountsPerRank) {
  with_time_limit([] {
    world_of(4)->run([](Rank& rank) {
      const std::vector<std::size_t> counts{3, 3, 3, 1};
      const std::size_t own = counts[static_cast<std::size_t>(rank.rank)];
      const DeviceArray send =
          array_of<Float16>(rank.device, std::vector<Float16>(own, Float16(rank.rank)));
      const DeviceArray recv = array_of<Float16>(rank.device, std::vector<Float16>(10));
      rank.communicator.all_gather(send, recv, counts, communication(rank)).synchronize();
      std::vector<float> received;
      for (const Float16 value : values_of<Float16>(recv)) received.push_back(value);
      EXPECT_EQ(received, (std::vector<float>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3}));
    });
  });
}

}  // namespace
}  // namespace ringside::sim
