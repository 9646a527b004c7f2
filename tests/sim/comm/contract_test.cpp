// Ranks that disagree get an error that shows both sides, nothing is overwritten, and a good
// collective works afterwards, in the same run and in the next one.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sim/comm/world_fixture.h"

namespace ringside::sim {
namespace {

CollectiveCall all_reduce_call(Device& device, std::size_t count = 8,
                               DType dtype = DType::kFloat32) {
  CollectiveCall call;
  call.operation = Operation::kAllReduce;
  call.count = count;
  call.dtype = dtype;
  call.send = visit_dtype(dtype, [&]<typename T>() {
    return array_of<T>(device, std::vector<T>(16, static_cast<T>(7)));
  });
  call.recv = call.send;
  return call;
}

// Rank 2 of 4 makes another third call than the others.
void expect_mismatch(const std::function<void(CollectiveCall&, Device&)>& differ,
                     const std::string& others, const std::string& rank2) {
  with_time_limit([&] {
    const auto world = world_of(4);
    Caught caught(4);
    world->run([&](Rank& rank) {
      expect_good_collective(rank);
      expect_good_collective(rank);
      CollectiveCall call = all_reduce_call(rank.device);
      if (rank.rank == 2) differ(call, rank.device);
      const DeviceArray buffer = call.recv;
      caught.in(rank.rank, [&] {
        rank.communicator.call(std::move(call), communication(rank)).synchronize();
      });
      if (!buffer.empty()) {
        visit_dtype(buffer.dtype, [&]<typename T>() {
          EXPECT_EQ(values_of<T>(buffer), std::vector<T>(16, static_cast<T>(7)));
        });
      }
      expect_good_collective(rank);
    });
    for (int rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(caught.any(rank)) << rank;
      EXPECT_EQ(caught.kind(rank), ErrorKind::kCommMismatch);
      EXPECT_EQ(caught.text(rank),
                "call 3 of the world: ranks 0, 1, 3 called " + others + ", rank 2 called " + rank2);
    }
    world->run([](Rank& rank) { expect_good_collective(rank); });
  });
}

constexpr auto kUsual = "all-reduce(count=8, float32, sum)";

TEST(Mismatch, Operation) {
  expect_mismatch([](CollectiveCall& call, Device&) { call.operation = Operation::kBroadcast; },
                  kUsual, "broadcast(count=8, float32, root=0)");
}
TEST(Mismatch, Count) {
  expect_mismatch([](CollectiveCall& call, Device&) { call.count = 9; }, kUsual,
                  "all-reduce(count=9, float32, sum)");
}
TEST(Mismatch, DType) {
  expect_mismatch([](CollectiveCall& call,
                     Device& device) { call = all_reduce_call(device, 8, DType::kInt32); },
                  kUsual, "all-reduce(count=8, int32, sum)");
}
TEST(Mismatch, ReduceOp) {
  expect_mismatch([](CollectiveCall& call, Device&) { call.op = ReduceOp::kMax; }, kUsual,
                  "all-reduce(count=8, float32, max)");
}
TEST(Mismatch, Algorithm) {
  expect_mismatch([](CollectiveCall& call, Device&) { call.algorithm = Algorithm::kTree; },
                  "all-reduce(count=8, float32, sum, ring up, border nccl)",
                  "all-reduce(count=8, float32, sum, tree)");
}
TEST(Mismatch, Barrier) {
  expect_mismatch(
      [](CollectiveCall& call, Device&) {
        call = {};
        call.operation = Operation::kBarrier;
      },
      kUsual, "barrier()");
}

TEST(Mismatch, Root) {
  with_time_limit([] {
    const auto world = world_of(3);
    Caught caught(3);
    world->run([&](Rank& rank) {
      const DeviceArray data = array_of<double>(rank.device, {1, 2});
      caught.in(rank.rank, [&] {
        rank.communicator.broadcast(data, data, 2, rank.rank == 0 ? 1 : 0, communication(rank))
            .synchronize();
      });
      expect_good_collective(rank);
    });
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(
          caught.text(rank),
          "call 1 of the world: rank 0 called broadcast(count=2, float64, root=1), ranks 1, 2 "
          "called broadcast(count=2, float64, root=0)");
    }
  });
}

TEST(Mismatch, CountsPerRank) {
  with_time_limit([] {
    const auto world = world_of(2);
    Caught caught(2);
    world->run([&](Rank& rank) {
      const DeviceArray data = array_of<float>(rank.device, std::vector<float>(8));
      const DeviceArray out = array_of<float>(rank.device, std::vector<float>(8));
      std::vector<std::size_t> counts{1, 3};
      if (rank.rank == 1) counts = {2, 2};
      caught.in(rank.rank, [&] {
        rank.communicator.gather(data, out, counts, 0, communication(rank)).synchronize();
      });
      expect_good_collective(rank);
    });
    EXPECT_EQ(caught.text(1),
              "call 1 of the world: rank 0 called gather(counts=[1, 3], float32, root=0), rank 1 "
              "called gather(count=2, float32, root=0)");
    EXPECT_EQ(caught.text(0), caught.text(1));
  });
}

// One default that differs would give different chunks: it is part of the contract.
TEST(Mismatch, Defaults) {
  with_time_limit([] {
    const auto world = world_of(2);
    Caught caught(2);
    world->run([&](Rank& rank) {
      if (rank.rank == 1) {
        rank.communicator.set_defaults({Algorithm::kRing, Direction::kDown, Border::kGloo});
      }
      CollectiveCall call = all_reduce_call(rank.device);
      caught.in(rank.rank, [&] {
        rank.communicator.call(std::move(call), communication(rank)).synchronize();
      });
    });
    EXPECT_EQ(
        caught.text(0),
        "call 1 of the world: rank 0 called all-reduce(count=8, float32, sum, ring up, border "
        "nccl), rank 1 called all-reduce(count=8, float32, sum, ring down, border gloo)");
  });
}

// Three ways to call: each group is shown.
TEST(Mismatch, EveryGroupOfCallersIsShown) {
  with_time_limit([] {
    const auto world = world_of(4);
    Caught caught(4);
    world->run([&](Rank& rank) {
      const auto count = static_cast<std::size_t>(rank.rank % 3 + 1);
      CollectiveCall call = all_reduce_call(rank.device, count);
      caught.in(rank.rank, [&] {
        rank.communicator.call(std::move(call), communication(rank)).synchronize();
      });
    });
    EXPECT_EQ(
        caught.text(3),
        "call 1 of the world: ranks 0, 3 called all-reduce(count=1, float32, sum), rank 1 "
        "called all-reduce(count=2, float32, sum), rank 2 called all-reduce(count=3, float32, "
        "sum)");
  });
}

// Nobody waits in between: the error comes out at the end of the run, once.
TEST(Mismatch, SurfacesAtTheNextWaitWhateverThatIs) {
  with_time_limit([] {
    const auto world = world_of(2);
    const Error error = error_of([&] {
      world->run([&](Rank& rank) {
        CollectiveCall call = all_reduce_call(rank.device, rank.rank == 0 ? 3 : 4);
        rank.communicator.call(std::move(call), communication(rank));
      });
    });
    EXPECT_EQ(error.kind(), ErrorKind::kCommMismatch);
    EXPECT_TRUE(contains(error.what(), "rank 0: call 1 of the world"));
    world->run([](Rank& rank) { expect_good_collective(rank); });
  });
}

TEST(Mismatch, OfAMessageIsAnErrorOnBothSides) {
  with_time_limit([] {
    const auto world = world_of(3);
    Caught caught(3);
    world->run([&](Rank& rank) {
      const DeviceArray data = array_of<float>(rank.device, {1, 2, 3, 4});
      caught.in(rank.rank, [&] {
        if (rank.rank == 0) rank.communicator.send(data, 3, 2, communication(rank)).synchronize();
        if (rank.rank == 2) rank.communicator.recv(data, 4, 0, communication(rank)).synchronize();
      });
      expect_good_collective(rank);
    });
    const std::string text =
        "message 1 from rank 0 to rank 2 of the world: rank 0 called send(count=3, float32, to "
        "rank "
        "2), rank 2 called recv(count=4, float32, from rank 0)";
    EXPECT_EQ(caught.text(0), text);
    EXPECT_EQ(caught.text(1), "no error");
    EXPECT_EQ(caught.text(2), text);
  });
}

TEST(Mismatch, ASplitAgainstACollective) {
  with_time_limit([] {
    const auto world = world_of(2);
    Caught caught(2);
    world->run([&](Rank& rank) {
      caught.in(rank.rank, [&] {
        if (rank.rank == 0) {
          rank.communicator.split(0, 0);
        } else {
          rank.communicator.barrier(communication(rank)).synchronize();
        }
      });
      expect_good_collective(rank);
    });
    EXPECT_EQ(caught.text(0), "call 1 of the world: rank 0 called split, rank 1 called barrier()");
    EXPECT_EQ(caught.text(1), caught.text(0));
  });
}

// A rank whose stream had an error of its own has no data to give.
TEST(FailedRank, IsNamedToTheOthers) {
  with_time_limit([] {
    const auto world = world_of(3);
    Caught caught(3);
    world->run([&](Rank& rank) {
      const DeviceArray data = array_of<float>(rank.device, {1});
      if (rank.rank == 1) {
        communication(rank).enqueue(
            [](LaunchContext&) { throw Error(ErrorKind::kDevice, "kernel broke"); });
      }
      const Work work =
          rank.communicator.all_reduce(data, data, 1, ReduceOp::kSum, communication(rank));
      caught.in(rank.rank, [&] { work.synchronize(); });
      expect_good_collective(rank);
    });
    for (const int rank : {0, 2}) {
      EXPECT_EQ(caught.kind(rank), ErrorKind::kRankFailed);
      EXPECT_TRUE(contains(caught.text(rank),
                           "rank 1 failed before all-reduce(count=1, float32, sum), call 1 of the "
                           "world: "));
      EXPECT_TRUE(contains(caught.text(rank), "kernel broke"));
    }
    EXPECT_TRUE(contains(caught.text(1), "kernel broke"));
    EXPECT_EQ(caught.kind(1), ErrorKind::kDevice);
  });
}

TEST(ZeroCount, IsCompleteAtOnceButCountsInTheSequence) {
  with_time_limit([] {
    const auto world = world_of(2);
    Caught caught(2);
    world->run([&](Rank& rank) {
      const DeviceArray data = array_of<float>(rank.device, {1});
      // Rank 1 comes much later, and rank 0 does not wait for it.
      if (rank.rank == 0) {
        rank.communicator.all_reduce({}, {}, 0, ReduceOp::kSum, communication(rank)).synchronize();
        rank.communicator.send(data, 1, 1, communication(rank)).synchronize();
      } else {
        rank.communicator.recv(data, 1, 0, communication(rank)).synchronize();
        rank.communicator.all_reduce({}, {}, 0, ReduceOp::kSum, communication(rank)).synchronize();
      }
      caught.in(rank.rank, [&] {
        rank.communicator
            .all_reduce(data, data, 1, static_cast<ReduceOp>(rank.rank), communication(rank))
            .synchronize();
      });
      expect_good_collective(rank);
    });
    EXPECT_TRUE(contains(caught.text(0), "call 2 of the world: "));
  });
}

// Zero-count calls that only some ranks made have nobody waiting; the next run begins level.
TEST(ZeroCount, LeftOverCallsDoNotShiftTheNextRun) {
  with_time_limit([] {
    const auto world = world_of(2);
    world->run([](Rank& rank) {
      if (rank.rank == 0) {
        rank.communicator.all_reduce({}, {}, 0, ReduceOp::kSum, communication(rank));
      }
    });
    world->run([](Rank& rank) { expect_good_collective(rank); });
  });
}

// The books of a call that ended badly serve the next one: nothing of it may be left in them. On
// two ranks messages and collectives share them.
TEST(Books, AreAsNewAfterEveryKindOfEnd) {
  for (const int ranks : {2, 3}) {
    with_time_limit([&] {
      const auto world = world_of(ranks);
      for (int round = 0; round < 5; ++round) {
        Caught caught(ranks);
        world->run([&](Rank& rank) {
          Communicator& communicator = rank.communicator;
          const DeviceArray array = array_of<float>(rank.device, {1, 2, 3, 4});
          const auto differ = [&](std::size_t own, std::size_t others) {
            const std::size_t count = rank.rank == 0 ? own : others;
            communicator.all_reduce(array, array, count, ReduceOp::kSum, communication(rank))
                .synchronize();
          };
          caught.in(rank.rank, [&] { differ(3, 4); });
          expect_good_collective(rank);
          caught.in(rank.rank, [&] { differ(0, 1); });
          expect_good_collective(rank);
          differ(0, 0);
          if (rank.rank == 0) communicator.send(array, 4, 1, communication(rank)).synchronize();
          if (rank.rank == 1) communicator.recv(array, 4, 0, communication(rank)).synchronize();
          expect_good_collective(rank);
        });
        for (int rank = 0; rank < ranks; ++rank) {
          EXPECT_EQ(caught.kind(rank), ErrorKind::kCommMismatch) << rank;
        }
        EXPECT_THROW(world->run([](Rank& rank) {
          expect_good_collective(rank);
          if (rank.rank != 1) expect_good_collective(rank);
        }),
                     Error);
      }
      world->run([](Rank& rank) { expect_good_collective(rank); });
    });
  }
}

}  // namespace
}  // namespace ringside::sim
