// Streams keep their order, events connect them, hosts wait for them, gates hold them.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>

#include "sim/device/fixture.h"

namespace ringside::sim {
namespace {

using std::chrono::milliseconds;

TEST(Streams, RunInOrder) {
  with_time_limit([] {
    Machine machine(1);
    std::vector<int> seen;
    for (int i = 0; i < 1000; ++i) {
      machine.compute(0).enqueue([&seen, i](LaunchContext&) { seen.push_back(i); });
    }
    machine.compute(0).synchronize();
    ASSERT_EQ(seen.size(), 1000U);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
  });
}

TEST(Streams, AreAsynchronousToTheHost) {
  with_time_limit([] {
    Machine machine(1);
    std::atomic<bool> go = false;
    machine.compute(0).enqueue([&](LaunchContext&) {
      while (!go) std::this_thread::yield();
    });
    const auto event = machine.compute(0).record();
    EXPECT_FALSE(event->done());
    go = true;
    event->synchronize();
    EXPECT_TRUE(event->done());
  });
}

TEST(Streams, LaunchesGetTheDevicesKernels) {
  Machine machine(1);
  const Kernels* seen = nullptr;
  machine.compute(0).enqueue([&](LaunchContext& context) { seen = &context.kernels; });
  machine.device(0).synchronize();
  EXPECT_EQ(seen, &machine.device(0).kernels());
}

TEST(Streams, AnEventOnAnIdleStreamIsDone) {
  Machine machine(1);
  EXPECT_TRUE(machine.compute(0).record()->done());
  machine.compute(0).record()->synchronize();
  machine.compute(0).synchronize();
  machine.device(0).synchronize();
}

TEST(Streams, AnEventCoversWhatCameBeforeItOnly) {
  with_time_limit([] {
    Machine machine(1, {.workers = 1});
    std::atomic<bool> go = false;
    std::atomic<int> ran = 0;
    machine.compute(0).enqueue([&](LaunchContext&) { ran = 1; });
    const auto before = machine.compute(0).record();
    machine.compute(0).enqueue([&](LaunchContext&) {
      while (!go) std::this_thread::yield();
    });
    const auto after = machine.compute(0).record();
    while (!before->done()) std::this_thread::yield();
    EXPECT_EQ(ran, 1);
    EXPECT_FALSE(after->done());
    go = true;
    after->synchronize();
  });
}

TEST(Streams, EventsOrderAcrossStreamsAndDevices) {
  with_time_limit([] {
    Machine machine(2);
    int value = 0;
    machine.compute(0).enqueue([&](LaunchContext&) {
      std::this_thread::sleep_for(milliseconds(5));
      value = 1;
    });
    machine.communication(0).wait(machine.compute(0).record());
    machine.communication(0).enqueue([&](LaunchContext&) { value = value * 10 + 2; });
    machine.compute(1).wait(machine.communication(0).record());
    machine.compute(1).enqueue([&](LaunchContext&) { value = value * 10 + 3; });
    machine.compute(1).synchronize();
    EXPECT_EQ(value, 123);
  });
}

TEST(Streams, WaitDoesNotBlockTheHost) {
  with_time_limit([] {
    Machine machine(2);
    std::atomic<bool> go = false;
    machine.compute(0).enqueue([&](LaunchContext&) {
      while (!go) std::this_thread::yield();
    });
    machine.compute(1).wait(machine.compute(0).record());
    const auto event = machine.compute(1).record();
    EXPECT_FALSE(event->done());
    go = true;
    event->synchronize();
  });
}

TEST(Streams, AnEventMayOutliveItsDevice) {
  Machine machine(1);
  machine.compute(0).enqueue([](LaunchContext&) {});
  const auto event = machine.compute(0).record();
  machine.device(0).synchronize();
  machine.devices.clear();
  EXPECT_TRUE(event->done());
}

TEST(Streams, ADeviceMayGoWhileItsWorkIsQueued) {
  with_time_limit([] {
    Machine machine(1);
    std::atomic<int> ran = 0;
    for (int i = 0; i < 100; ++i) {
      machine.compute(0).enqueue([&](LaunchContext&) { ++ran; });
    }
    machine.devices.clear();
    machine.engine.reset();
    EXPECT_EQ(ran, 100);
  });
}

TEST(Streams, WhatALaunchCapturesIsReleasedBeforeItCountsAsDone) {
  with_time_limit([] {
    Machine machine(1);
    auto captured = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = captured;
    machine.compute(0).enqueue([captured](LaunchContext&) {});
    captured.reset();
    machine.compute(0).synchronize();
    EXPECT_TRUE(watch.expired());
  });
}

class ForeignEvent : public Event {
 public:
  ForeignEvent() : Event(kNoOp) {}
  bool done() const override { return true; }
  void synchronize() override {}
};

TEST(Streams, AnEventOfAnotherWorldIsRefused) {
  Machine machine(1);
  Machine other(1);
  EXPECT_EQ(error_of([&] { machine.compute(0).wait(other.compute(0).record()); }).kind(),
            ErrorKind::kInvalidArgument);
  const Error error = error_of([&] { machine.compute(0).wait(std::make_shared<ForeignEvent>()); });
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
}

TEST(Gates, HoldTheirStreamUntilTheyAreCompleted) {
  with_time_limit([] {
    Machine machine(1);
    std::mutex mutex;
    std::optional<Gate> gate;
    int after = 0;
    machine.engine->enqueue_gate(machine.compute(0), keeper([&](Gate reached) {
                                   const std::lock_guard lock(mutex);
                                   gate = std::move(reached);
                                 }));
    machine.compute(0).enqueue([&](LaunchContext&) { after = 1; });
    const auto event = machine.compute(0).record();
    for (bool reached = false; !reached; std::this_thread::yield()) {
      const std::lock_guard lock(mutex);
      reached = gate.has_value();
    }
    EXPECT_FALSE(event->done());
    EXPECT_EQ(gate->poison(), nullptr);
    gate->complete();
    gate->complete(std::make_shared<const Error>(ErrorKind::kIo, "too late to matter"));
    event->synchronize();
    EXPECT_EQ(after, 1);
  });
}

TEST(Gates, MayCompleteAtOnce) {
  with_time_limit([] {
    Machine machine(1);
    std::atomic<int> reached = 0;
    for (int i = 0; i < 100; ++i) {
      machine.engine->enqueue_gate(machine.compute(0), keeper([&reached](const Gate& gate) {
                                     ++reached;
                                     gate.complete();
                                   }));
    }
    machine.compute(0).synchronize();
    EXPECT_EQ(reached, 100);
  });
}

TEST(Gates, ComeAfterEarlierWorkOfTheirStream) {
  with_time_limit([] {
    Machine machine(2);
    Barrier barrier(machine, 2);
    int left = 0;
    int right = 0;
    int sum = 0;
    machine.engine->run(machine.ranks, [&](int rank) {
      machine.compute(rank).enqueue([&, rank](LaunchContext&) { (rank == 0 ? left : right) = 21; });
      machine.communication(rank).wait(machine.compute(rank).record());
      barrier.enter(rank);
      if (rank == 0) {
        machine.communication(rank).enqueue([&](LaunchContext&) { sum = left + right; });
      }
      machine.communication(rank).synchronize();
    });
    EXPECT_EQ(sum, 42);
  });
}

TEST(Gates, OnAStreamOfAnotherEngineAreRefused) {
  Machine one(1);
  Machine other(1);
  EXPECT_EQ(error_of([&] {
              one.engine->enqueue_gate(other.compute(0), keeper([](const Gate&) {}));
            }).kind(),
            ErrorKind::kInvalidArgument);
}

TEST(Latches, AreCompletedByHandOnce) {
  with_time_limit([] {
    Machine machine(1);
    const auto latch = machine.engine->make_latch();
    EXPECT_FALSE(latch->done());
    int ran = 0;
    machine.compute(0).wait(latch);
    machine.compute(0).enqueue([&](LaunchContext&) { ran = 1; });
    EXPECT_FALSE(machine.compute(0).record()->done());
    latch->complete();
    latch->complete(std::make_shared<const Error>(ErrorKind::kIo, "too late to matter"));
    latch->synchronize();
    machine.compute(0).synchronize();
    EXPECT_EQ(ran, 1);
  });
}

TEST(Latches, PassTheirErrorToHostsAndStreams) {
  with_time_limit([] {
    Machine machine(1);
    const auto latch = machine.engine->make_latch();
    machine.compute(0).wait(latch);
    latch->complete(std::make_shared<const Error>(ErrorKind::kCommMismatch, "sizes differ"));
    for (int i = 0; i < 2; ++i) {
      const Error error = error_of([&] { latch->synchronize(); });
      EXPECT_EQ(error.kind(), ErrorKind::kCommMismatch);
      EXPECT_STREQ(error.what(), "sizes differ");
    }
    EXPECT_STREQ(error_of([&] { machine.compute(0).synchronize(); }).what(), "sizes differ");
  });
}

TEST(Post, RunsTasksOnThePool) {
  with_time_limit([] {
    std::shared_ptr<Latch>
        latch;  // outlives the pool: complete() may be at it when the host goes on
    std::atomic<int> ran = 0;
    Job job([&] {
      if (++ran == 10) latch->complete();
    });
    Machine machine(1);
    latch = machine.engine->make_latch();
    for (int part = 0; part < 10; ++part) machine.engine->post(job, part);
    latch->synchronize();
    EXPECT_EQ(ran, 10);
  });
}

// Hosts that do not wait run no tasks, and keep more threads busy than there are cores.
TEST(Pool, TasksOfHostsThatKeepTheCoresBusyAreRunNevertheless) {
  EngineOptions options;
  options.workers = 2;
  with_time_limit([&] {
    Machine machine(4, options);
    constexpr int kTasks = 100;
    machine.engine->run(machine.ranks, [&](int rank) {
      std::atomic<int> ran = 0;
      for (int i = 0; i < kTasks; ++i) {
        machine.compute(rank).enqueue([&](LaunchContext&) { ++ran; });
      }
      while (ran < kTasks) std::this_thread::yield();
    });
  });
}

TEST(Pool, TasksOfHostsThatHaveLeftAreRunNevertheless) {
  EngineOptions options;
  options.workers = 1;
  with_time_limit([&] {
    for (int repeat = 0; repeat < 200; ++repeat) {
      Machine machine(2, options);
      std::shared_ptr<Event> last;
      machine.engine->drive([&] {
        for (int i = 0; i < 50; ++i) machine.compute(i % 2).enqueue([](LaunchContext&) {});
        machine.compute(0).synchronize();
        for (int i = 0; i < 50; ++i) machine.compute(1).enqueue([](LaunchContext&) {});
        last = machine.compute(1).record();
      });
      while (!last->done()) std::this_thread::yield();
    }
  });
}

TEST(Pool, AThreadKnowsItsCore) {
  EngineOptions options;
  options.workers = 2;
  with_time_limit([&] {
    Machine machine(4, options);
    machine.engine->run(machine.ranks, [&](int rank) {
      EXPECT_EQ(machine.engine->own_core(), static_cast<std::size_t>(rank) % 2);
    });
  });
}

TEST(EngineEnd, RunsWhatIsQueuedAndFailsWhatIsOpen) {
  with_time_limit([] {
    std::atomic<int> ran = 0;
    {
      Machine machine(2);
      machine.compute(0).enqueue([&](LaunchContext&) {
        std::this_thread::sleep_for(milliseconds(5));
        ++ran;
      });
      machine.compute(0).enqueue([&](LaunchContext&) { ++ran; });
      machine.engine->enqueue_gate(machine.communication(1), keeper([](const Gate&) {}));
      machine.engine->enqueue_gate(machine.communication(1), keeper([](const Gate&) {}));
      machine.compute(1).wait(machine.communication(1).record());
      machine.compute(1).wait(machine.engine->make_latch());
      machine.compute(1).enqueue([](LaunchContext&) {});
    }
    EXPECT_EQ(ran, 2);
  });
}

TEST(EngineEnd, WithoutWorkStartsNoThread) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         std::filesystem::directory_iterator());
  };
  const auto before = threads();
  const Machine machine(16);
  EXPECT_EQ(threads(), before);
}

}  // namespace
}  // namespace ringside::sim
