// Deadlocks are found exactly: always, never falsely, with a report, and the engine works on.
#include <chrono>
#include <thread>

#include "sim/device/fixture.h"

namespace ringside::sim {
namespace {

using std::chrono::milliseconds;

Error run_error(Machine& machine, const std::function<void(int)>& function) {
  return error_of([&] { machine.engine->run(machine.ranks, function); });
}

TEST(Run, CallsEveryRankOnAThreadOfItsOwn) {
  with_time_limit([] {
    Machine machine(4);
    std::vector<std::thread::id> threads(4);
    machine.engine->run(machine.ranks, [&](int rank) {
      threads[static_cast<std::size_t>(rank)] = std::this_thread::get_id();
    });
    for (int i = 0; i < 4; ++i) {
      EXPECT_NE(threads[static_cast<std::size_t>(i)], std::thread::id());
      for (int k = 0; k < i; ++k) {
        EXPECT_NE(threads[static_cast<std::size_t>(i)], threads[static_cast<std::size_t>(k)]);
      }
    }
  });
}

TEST(Run, SynchronisesEveryDevice) {
  with_time_limit([] {
    Machine machine(2);
    std::vector<int> ran(2);
    machine.engine->run(machine.ranks, [&](int rank) {
      machine.compute(rank).enqueue([&ran, rank](LaunchContext&) {
        std::this_thread::sleep_for(milliseconds(2));
        ran[static_cast<std::size_t>(rank)] = 1;
      });
    });
    EXPECT_EQ(ran, (std::vector<int>{1, 1}));
    const Error error = run_error(machine, [&](int rank) {
      if (rank == 1) {
        machine.compute(rank).submit(named("relu"),
                                     [](LaunchContext&) { throw std::runtime_error("boom"); });
      }
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_TRUE(contains(error.what(), "rank 1: device sim:1: 'relu' failed: boom"));
    machine.engine->run(machine.ranks, [](int) {});
  });
}

TEST(Run, RethrowsTheLowestRanksErrorWithItsRank) {
  with_time_limit([] {
    Machine machine(4);
    const Error error = run_error(machine, [](int rank) {
      if (rank >= 2) throw Error(ErrorKind::kInvalidInput, "row " + std::to_string(rank), "look");
    });
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
    EXPECT_STREQ(error.what(), "rank 2: row 2");
    EXPECT_EQ(error.hint(), "look");
    try {
      machine.engine->run(machine.ranks, [](int) { throw std::range_error("plain"); });
      FAIL() << "no error";
    } catch (const std::runtime_error& plain) {
      EXPECT_STREQ(plain.what(), "rank 0: plain");
    }
  });
}

TEST(Deadlock, ARankThatNeverCallsIsReported) {
  with_time_limit([] {
    Machine machine(3);
    Barrier barrier(machine, 3);
    const Error error = run_error(machine, [&](int rank) {
      if (rank == 2) return;
      barrier.enter(rank);
      machine.communication(rank).synchronize();
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
    EXPECT_STREQ(error.what(),
                 "rank 0: deadlock: nothing can go on\n"
                 "  rank 0 waits in the barrier\n"
                 "  rank 1 waits in the barrier\n"
                 "  rank 2 has finished");
    EXPECT_EQ(barrier.aborts(), 1);
  });
}

TEST(Deadlock, EveryWaitingHostGetsIt) {
  with_time_limit([] {
    Machine machine(4);
    Barrier barrier(machine, 4);
    std::atomic<int> caught = 0;
    machine.engine->run(machine.ranks, [&](int rank) {
      if (rank == 3) return;
      barrier.enter(rank);
      try {
        if (rank == 0) machine.communication(rank).synchronize();
        if (rank == 1) machine.communication(rank).record()->synchronize();
        if (rank == 2) machine.device(rank).synchronize();
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::kDeadlock) ++caught;
      }
      machine.device(rank).synchronize();
    });
    EXPECT_EQ(caught, 3);
  });
}

TEST(Deadlock, TheSameRunGoesOnWhereTheErrorIsCaught) {
  with_time_limit([] {
    Machine machine(3);
    Barrier barrier(machine, 3);
    std::atomic<int> after = 0;
    machine.engine->run(machine.ranks, [&](int rank) {
      if (rank != 1) {
        barrier.enter(rank);
        EXPECT_EQ(error_of([&] { machine.communication(rank).synchronize(); }).kind(),
                  ErrorKind::kDeadlock);
      } else {
        const auto latch = machine.engine->make_latch();
        EXPECT_EQ(error_of([&] { latch->synchronize(); }).kind(), ErrorKind::kDeadlock);
      }
      for (int i = 0; i < 10; ++i) barrier.enter(rank);
      machine.communication(rank).synchronize();
      ++after;
    });
    EXPECT_EQ(after, 3);
    machine.engine->run(machine.ranks, [&](int rank) { barrier.enter(rank); });
  });
}

TEST(Deadlock, WithoutACommunicatorToAskIsFoundToo) {
  with_time_limit([] {
    Machine machine(2);
    const Error error = run_error(machine, [&](int rank) {
      if (rank == 0) {
        machine.engine->enqueue_gate(machine.communication(0), keeper([](const Gate&) {}));
        machine.compute(0).wait(machine.communication(0).record());
        machine.compute(0).synchronize();
      } else {
        machine.compute(1).wait(machine.engine->make_latch());
      }
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
    EXPECT_TRUE(contains(error.what(), "rank 0 waits for the compute stream of device sim:0"));
    EXPECT_TRUE(contains(error.what(),
                         "rank 1 has finished its function and waits for the compute stream"));
  });
}

TEST(Deadlock, IsFoundWhenTheLastRankEndsAfterTheOthersWait) {
  with_time_limit([] {
    Machine machine(2);
    Barrier barrier(machine, 2);
    const Error error = run_error(machine, [&](int rank) {
      if (rank == 1) {
        std::this_thread::sleep_for(milliseconds(20));
        return;
      }
      barrier.enter(rank);
      machine.communication(rank).synchronize();
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
  });
}

TEST(Deadlock, IsFoundWhenTheLastTaskEndsAfterTheHostsWait) {
  with_time_limit([] {
    Machine machine(2);
    Barrier barrier(machine, 2);
    const Error error = run_error(machine, [&](int rank) {
      machine.compute(rank).enqueue(
          [](LaunchContext&) { std::this_thread::sleep_for(milliseconds(10)); });
      machine.communication(rank).wait(machine.compute(rank).record());
      if (rank == 1) machine.communication(rank).wait(machine.engine->make_latch());
      barrier.enter(rank);
      machine.communication(rank).synchronize();
    });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
  });
}

TEST(Deadlock, NobodyIsSuspectedWhileAHostIsBusyElsewhere) {
  with_time_limit([] {
    Machine machine(2);
    Barrier barrier(machine, 2);
    machine.engine->run(machine.ranks, [&](int rank) {
      for (int i = 0; i < 5; ++i) {
        if (rank == 1) std::this_thread::sleep_for(milliseconds(10));
        barrier.enter(rank);
        machine.communication(rank).synchronize();
      }
    });
    EXPECT_EQ(barrier.aborts(), 0);
  });
}

TEST(Deadlock, NobodyIsSuspectedUnderAHold) {
  with_time_limit([] {
    Machine machine(1);
    const auto latch = machine.engine->make_latch();
    auto hold = machine.engine->hold();
    std::thread outside([&] {
      std::this_thread::sleep_for(milliseconds(20));
      latch->complete();
      hold.reset();
    });
    latch->synchronize();
    outside.join();
    EXPECT_EQ(error_of([&] { machine.engine->make_latch()->synchronize(); }).kind(),
              ErrorKind::kDeadlock);
  });
}

TEST(Deadlock, EndOfAHoldFindsIt) {
  with_time_limit([] {
    Machine machine(1);
    auto hold = machine.engine->hold();
    std::thread outside([&] {
      std::this_thread::sleep_for(milliseconds(20));
      hold.reset();
    });
    EXPECT_EQ(error_of([&] { machine.engine->make_latch()->synchronize(); }).kind(),
              ErrorKind::kDeadlock);
    outside.join();
  });
}

TEST(Deadlock, OutsideOfRunAndDriveIsFoundToo) {
  with_time_limit([] {
    Machine machine(2);
    Barrier barrier(machine, 2);
    barrier.enter(0);
    const Error error = error_of([&] { machine.communication(0).synchronize(); });
    EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
    EXPECT_TRUE(contains(error.what(),
                         "the calling thread waits for the communication stream of device sim:0"));
    EXPECT_TRUE(contains(error.what(), "rank 0 waits in the barrier"));
    barrier.enter(0);
    barrier.enter(1);
    machine.communication(0).synchronize();
  });
}

TEST(Drive, OneThreadDrivesAllRanks) {
  with_time_limit([] {
    Machine machine(4);
    Barrier barrier(machine, 4);
    machine.engine->drive([&] {
      for (int rank : machine.ranks) barrier.enter(rank);
      for (int rank : machine.ranks) machine.device(rank).synchronize();
      barrier.enter(0);
      EXPECT_EQ(error_of([&] { machine.device(0).synchronize(); }).kind(), ErrorKind::kDeadlock);
      machine.engine->drive([&] {
        for (int rank : machine.ranks) barrier.enter(rank);
        machine.device(3).synchronize();
      });
    });
    EXPECT_THROW(machine.engine->drive([] { throw std::runtime_error("mine"); }),
                 std::runtime_error);
    machine.engine->drive([&] { machine.device(0).synchronize(); });
  });
}

TEST(Drive, MayRunRanksInside) {
  with_time_limit([] {
    Machine machine(2);
    Barrier barrier(machine, 2);
    machine.engine->drive([&] {
      machine.engine->run(machine.ranks, [&](int rank) { barrier.enter(rank); });
      const Error error = run_error(machine, [&](int rank) {
        if (rank == 0) barrier.enter(rank);
      });
      EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
    });
  });
}

TEST(RankFailure, WakesThoseWhoWaitForIt) {
  with_time_limit([] {
    Machine machine(3);
    Barrier barrier(machine, 3);
    std::atomic<int> woken = 0;
    const Error error = run_error(machine, [&](int rank) {
      if (rank == 1) throw Error(ErrorKind::kNotFinite, "loss is NaN");
      barrier.enter(rank);
      const Error seen = error_of([&] { machine.communication(rank).synchronize(); });
      EXPECT_EQ(seen.kind(), ErrorKind::kRankFailed);
      EXPECT_TRUE(contains(seen.what(), "rank 1 failed: loss is NaN"));
      ++woken;
      throw seen;
    });
    EXPECT_EQ(woken, 2);
    EXPECT_EQ(error.kind(), ErrorKind::kNotFinite);
    EXPECT_STREQ(error.what(), "rank 1: loss is NaN");
    machine.engine->run(machine.ranks, [&](int rank) { barrier.enter(rank); });
  });
}

TEST(RankFailure, LeavesNothingOpenBehind) {
  with_time_limit([] {
    Machine machine(2);
    Barrier barrier(machine, 2);
    for (int i = 0; i < 20; ++i) {
      const Error error = run_error(machine, [&](int rank) {
        barrier.enter(rank);
        if (rank == 0) {
          barrier.enter(rank);
          throw Error(ErrorKind::kIo, "disk full");
        }
      });
      EXPECT_STREQ(error.what(), "rank 0: disk full");
      machine.engine->run(machine.ranks, [&](int rank) {
        barrier.enter(rank);
        machine.communication(rank).synchronize();
      });
    }
  });
}

// As the prototype did: many deadlocks of every kind, each found, none invented.
TEST(Deadlock, IsFoundEveryTime) {
  with_time_limit([] {
    Machine machine(4, {.random_delay_us = 20});
    Barrier barrier(machine, 4);
    for (int i = 0; i < 300; ++i) {
      const int absent = i % 4;
      std::atomic<int> deadlocks = 0;
      machine.engine->run(machine.ranks, [&](int rank) {
        for (int k = 0; k < i % 3; ++k) barrier.enter(rank);
        machine.communication(rank).synchronize();
        if (rank != absent) barrier.enter(rank);
        try {
          machine.device(rank).synchronize();
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::kDeadlock) ++deadlocks;
        }
      });
      ASSERT_EQ(deadlocks, 3) << "round " << i;
      ASSERT_EQ(barrier.aborts(), i + 1);
    }
  });
}

}  // namespace
}  // namespace ringside::sim
