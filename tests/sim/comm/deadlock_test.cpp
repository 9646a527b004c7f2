// Deadlocks are reported exactly: who waits in which call, who has not made it, who has ended and
// what it did last. Afterwards a good collective works.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "sim/comm/world_fixture.h"

namespace ringside::sim {
namespace {

void expect_next_run_is_good(World& world) {
  world.run([](Rank& rank) { expect_good_collective(rank); });
}

TEST(Deadlock, ARankThatNeverCalls) {
  with_time_limit([] {
    const auto world = world_of(3);
    const Error error = error_of([&] {
      world->run([](Rank& rank) {
        expect_good_collective(rank);
        if (rank.rank == 1) return;
        const DeviceArray data = array_of<float>(rank.device, {1, 2});
        rank.communicator.all_reduce(data, data, 2, ReduceOp::kSum, communication(rank))
            .synchronize();
      });
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
    const std::string text = error.what();
    for (const char* part :
         {"rank 0 waits in all-reduce(count=2, float32, sum), call 2 of the world, since ",
          " ms; rank 1 has not called it; last completed: all-reduce(count=1, float32, sum), call "
          "1 "
          "of the world",
          "rank 1 has finished; last completed: all-reduce(count=1, float32, sum), call 1 of the "
          "world",
          "rank 2 waits in all-reduce(count=2, float32, sum), call 2 of the world, since "}) {
      EXPECT_TRUE(contains(text, part));
    }
    expect_next_run_is_good(*world);
  });
}

TEST(Deadlock, IsCaughtAndTheSameRunGoesOn) {
  with_time_limit([] {
    const auto world = world_of(2);
    Caught caught(2);
    world->run([&](Rank& rank) {
      // Each waits for a different number of barriers: rank 0 for a second one.
      caught.in(rank.rank, [&] {
        rank.communicator.barrier(communication(rank)).synchronize();
        if (rank.rank == 0) rank.communicator.barrier(communication(rank)).synchronize();
        const DeviceArray data = array_of<float>(rank.device, {1});
        if (rank.rank == 1) rank.communicator.recv(data, 1, 0, communication(rank)).synchronize();
      });
      expect_good_collective(rank);
    });
    EXPECT_EQ(caught.kind(0), ErrorKind::kDeadlock);
    EXPECT_EQ(caught.kind(1), ErrorKind::kDeadlock);
    EXPECT_TRUE(contains(caught.text(0), "rank 0 waits in barrier(), call 2 of the world, since "));
    EXPECT_TRUE(contains(caught.text(0), "; rank 1 has not called it"));
    EXPECT_TRUE(contains(caught.text(0),
                         "rank 1 waits in recv(count=1, float32, from rank 0), message 1 from rank "
                         "0 to rank 1 of the world, since "));
    EXPECT_TRUE(contains(caught.text(0), "; rank 0 has not called send for it"));
  });
}

TEST(Deadlock, ARankThatThrowsIsTheCause) {
  with_time_limit([] {
    const auto world = world_of(3);
    Caught caught(3);
    std::string cause;
    try {
      world->run([&](Rank& rank) {
        if (rank.rank == 2) throw std::runtime_error("out of coffee");
        caught.in(rank.rank, [&] { rank.communicator.barrier(communication(rank)).synchronize(); });
      });
    } catch (const std::exception& error) {
      cause = error.what();
    }
    EXPECT_EQ(cause, "rank 2: out of coffee");
    for (const int rank : {0, 1}) {
      EXPECT_EQ(caught.kind(rank), ErrorKind::kRankFailed);
      EXPECT_TRUE(contains(caught.text(rank), "rank 2 failed: out of coffee"));
      EXPECT_TRUE(contains(caught.text(rank), "rank 0 waits in barrier(), call 1 of the world"));
      EXPECT_TRUE(contains(caught.text(rank), "; rank 2 has not called it"));
    }
    expect_next_run_is_good(*world);
  });
}

TEST(Deadlock, CrossedSends) {
  with_time_limit([] {
    const auto world = world_of(2);
    const Error error = error_of([&] {
      world->run([](Rank& rank) {
        const DeviceArray data = array_of<float>(rank.device, {1, 2, 3});
        const int peer = 1 - rank.rank;
        rank.communicator.send(data, 3, peer, communication(rank)).synchronize();
        rank.communicator.recv(data, 3, peer, communication(rank)).synchronize();
      });
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
    const std::string text = error.what();
    EXPECT_TRUE(contains(text,
                         "rank 0 waits in send(count=3, float32, to rank 1), message 1 from rank 0 "
                         "to rank 1 of the world, since "));
    EXPECT_TRUE(contains(text, "; rank 1 has not called recv for it"));
    EXPECT_TRUE(contains(text, "rank 1 waits in send(count=3, float32, to rank 0)"));
    EXPECT_TRUE(contains(text, "; rank 0 has not called recv for it"));
    expect_next_run_is_good(*world);
  });
}

// The calls are all there, but each stream stands before another one: only enqueued, not waited
// for.
TEST(Deadlock, CrossedSendsOnStreamsWithoutAnyHostWait) {
  with_time_limit([] {
    const auto world = world_of(2);
    const Error error = error_of([&] {
      world->run([](Rank& rank) {
        const DeviceArray data = array_of<float>(rank.device, {1, 2, 3});
        const int peer = 1 - rank.rank;
        rank.communicator.send(data, 3, peer, communication(rank));
        rank.communicator.recv(data, 3, peer, communication(rank));
      });
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
    EXPECT_TRUE(contains(error.what(), "rank 0 waits in send(count=3, float32, to rank 1)"));
    EXPECT_TRUE(
        contains(error.what(), "; rank 1 called recv, but earlier work holds up its stream"));
    expect_next_run_is_good(*world);
  });
}

TEST(Deadlock, TwoCommunicatorsInOppositeOrder) {
  with_time_limit([] {
    const auto world = world_of(2);
    const Error error = error_of([&] {
      world->run([](Rank& rank) {
        const auto second = rank.communicator.split(0, 0);
        Communicator& first = rank.communicator;
        if (rank.rank == 0) {
          first.barrier(communication(rank)).synchronize();
          second->barrier(communication(rank)).synchronize();
        } else {
          second->barrier(communication(rank)).synchronize();
          first.barrier(communication(rank)).synchronize();
        }
      });
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
    const std::string text = error.what();
    EXPECT_TRUE(contains(text, "rank 0 waits in barrier(), call 2 of the world, since "));
    EXPECT_TRUE(contains(
        text, "rank 1 waits in barrier(), call 1 of communicator 1 (world ranks 0, 1), since "));
    EXPECT_TRUE(contains(text,
                         "; rank 0 has not called it; last completed: split, call 1 of the "
                         "world"));
    expect_next_run_is_good(*world);
  });
}

TEST(Deadlock, ASplitThatNotAllRanksMake) {
  with_time_limit([] {
    const auto world = world_of(2);
    const Error error = error_of([&] {
      world->run([](Rank& rank) {
        if (rank.rank == 0) rank.communicator.split(0, 0);
      });
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
    EXPECT_TRUE(contains(error.what(), "rank 0 waits in split, call 1 of the world, since "));
    EXPECT_TRUE(contains(error.what(), "; rank 1 has not called it"));
    EXPECT_TRUE(contains(error.what(), "rank 1 has finished"));
    expect_next_run_is_good(*world);
  });
}

TEST(Deadlock, OneThreadThatDrivesAllRanksAndForgetsOne) {
  with_time_limit([] {
    const auto world = world_of(2);
    const Error error = error_of([&] {
      world->drive([&] {
        Stream& stream = world->device(0).stream(StreamKind::kCommunication);
        world->communicator(0).barrier(stream).synchronize();
      });
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
    EXPECT_TRUE(contains(error.what(), "rank 0 waits in barrier(), call 1 of the world, since "));
    EXPECT_TRUE(contains(error.what(), "; rank 1 has not called it"));
    expect_next_run_is_good(*world);
  });
}

// An exception between the calls of one collective leaves a rank at a gate that will never open.
TEST(Deadlock, ADriveThatFailsHalfwayLeavesTheWorldUsable) {
  with_time_limit([] {
    const auto world = world_of(2);
    EXPECT_THROW(world->drive([&] {
      world->communicator(0).barrier(world->device(0).stream(StreamKind::kCommunication));
      throw std::runtime_error("halfway");
    }),
                 std::runtime_error);
    expect_next_run_is_good(*world);
  });
}

}  // namespace
}  // namespace ringside::sim
