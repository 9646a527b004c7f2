// Asynchronous errors: what fails, what is skipped, where it surfaces, and that it does so once.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/launch_blocking.h"
#include "sim/device/fixture.h"

namespace ringside::sim {
namespace {

Launch broken(const std::string& text = "index 12 is out of range") {
  return [text](LaunchContext&) { throw std::runtime_error(text); };
}

Launch count(int& counter) {
  return [&counter](LaunchContext&) { ++counter; };
}

TEST(AsynchronousErrors, SurfaceAtTheNextSynchronisationOnce) {
  with_time_limit([] {
    Machine machine(3);
    machine.compute(2).submit(named("relu", "layer 1"), broken());
    const Error error = error_of([&] { machine.compute(2).synchronize(); });
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_TRUE(
        contains(error.what(), "device sim:2: 'relu' of 'layer 1' failed: index 12 is out"));
    EXPECT_TRUE(contains(error.what(), "asynchronous"));
    EXPECT_TRUE(contains(error.hint(), "RINGSIDE_LAUNCH_BLOCKING=1"));
    machine.compute(2).synchronize();
    machine.device(2).synchronize();
  });
}

TEST(AsynchronousErrors, SurfaceAtDeviceAndEventToo) {
  with_time_limit([] {
    Machine machine(1);
    machine.compute(0).submit(named("a"), broken());
    const auto event = machine.compute(0).record();
    EXPECT_TRUE(contains(error_of([&] { event->synchronize(); }).what(), "'a' failed"));
    event->synchronize();
    machine.compute(0).submit(named("b"), broken());
    EXPECT_TRUE(contains(error_of([&] { machine.device(0).synchronize(); }).what(), "'b' failed"));
    machine.device(0).synchronize();
    // Any stream of the device will do.
    machine.communication(0).submit(named("c"), broken());
    while (!machine.communication(0).record()->done()) std::this_thread::yield();
    EXPECT_TRUE(contains(error_of([&] { machine.compute(0).synchronize(); }).what(), "'c' failed"));
  });
}

TEST(AsynchronousErrors, AnErrorKeepsItsKindAndHint) {
  with_time_limit([] {
    Machine machine(1);
    machine.compute(0).submit(named("gemm"), [](LaunchContext&) {
      throw Error(ErrorKind::kUnavailable, "no such kernel", "use another backend");
    });
    const Error error = error_of([&] { machine.device(0).synchronize(); });
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    EXPECT_EQ(error.hint(), "use another backend");
  });
}

TEST(AsynchronousErrors, SkipTheRestUntilTheySurface) {
  with_time_limit([] {
    Machine machine(1);
    int before = 0;
    int skipped = 0;
    int after = 0;
    machine.compute(0).submit(named("before"), count(before));
    machine.compute(0).submit(named("broken"), broken());
    machine.compute(0).submit(named("skipped"), count(skipped));
    machine.communication(0).wait(machine.compute(0).record());
    machine.communication(0).submit(named("skipped"), count(skipped));
    EXPECT_THROW(machine.device(0).synchronize(), Error);
    machine.compute(0).submit(named("after"), count(after));
    machine.device(0).synchronize();
    EXPECT_EQ(before, 1);
    EXPECT_EQ(skipped, 0);
    EXPECT_EQ(after, 1);
  });
}

// What was enqueued before the error surfaced is skipped, what was enqueued after runs: program
// order alone decides, whatever the workers have got to by then.
TEST(AsynchronousErrors, ProgramOrderDecidesWhatIsSkipped) {
  with_time_limit([] {
    for (int i = 0; i < 200; ++i) {
      Machine machine(1, {.random_delay_us = 50, .delay_seed = static_cast<std::uint64_t>(i)});
      int skipped = 0;
      int after = 0;
      machine.compute(0).submit(named("broken"), broken());
      const auto event = machine.compute(0).record();
      for (int k = 0; k < 5; ++k) machine.compute(0).submit(named("skipped"), count(skipped));
      EXPECT_THROW(event->synchronize(), Error);
      for (int k = 0; k < 5; ++k) machine.compute(0).submit(named("after"), count(after));
      machine.compute(0).synchronize();
      ASSERT_EQ(skipped, 0);
      ASSERT_EQ(after, 5);
    }
  });
}

TEST(AsynchronousErrors, TheFirstOfADeviceWins) {
  with_time_limit([] {
    Machine machine(1);
    machine.compute(0).submit(named("first"), broken());
    machine.compute(0).submit(named("second"), broken());
    EXPECT_TRUE(contains(error_of([&] { machine.device(0).synchronize(); }).what(), "'first'"));
    machine.device(0).synchronize();
  });
}

TEST(AsynchronousErrors, PoisonTheStreamsThatWaitForThem) {
  with_time_limit([] {
    Machine machine(2);
    int skipped = 0;
    int healthy = 0;
    machine.compute(1).submit(named("healthy"), count(healthy));
    machine.compute(0).submit(named("broken"), broken());
    machine.compute(1).wait(machine.compute(0).record());
    machine.compute(1).submit(named("skipped"), count(skipped));
    EXPECT_TRUE(contains(error_of([&] { machine.compute(1).synchronize(); }).what(),
                         "device sim:0: 'broken' failed"));
    EXPECT_THROW(machine.compute(0).synchronize(), Error);
    machine.compute(1).submit(named("healthy"), count(healthy));
    machine.compute(1).synchronize();
    EXPECT_EQ(skipped, 0);
    EXPECT_EQ(healthy, 2);
  });
}

TEST(AsynchronousErrors, AnEventBeforeTheErrorIsHealthy) {
  with_time_limit([] {
    Machine machine(2);
    int ran = 0;
    machine.compute(0).submit(named("fine"), [](LaunchContext&) {});
    const auto before = machine.compute(0).record();
    machine.compute(0).submit(named("broken"), broken());
    EXPECT_THROW(machine.compute(0).synchronize(), Error);
    machine.compute(1).wait(before);
    machine.compute(1).wait(machine.compute(0).record());
    machine.compute(1).submit(named("healthy"), count(ran));
    machine.compute(1).synchronize();
    EXPECT_EQ(ran, 1);
  });
}

TEST(AsynchronousErrors, ReachGatesAsPoison) {
  with_time_limit([] {
    Machine machine(1);
    std::string poison;
    machine.compute(0).submit(named("broken"), broken());
    machine.engine->enqueue_gate(machine.compute(0), keeper([&](const Gate& gate) {
                                   poison = gate.poison()->what();
                                   gate.complete();
                                 }));
    EXPECT_THROW(machine.compute(0).synchronize(), Error);
    EXPECT_TRUE(contains(poison, "'broken' failed"));
    machine.engine->enqueue_gate(machine.compute(0), keeper([&](const Gate& gate) {
                                   poison = gate.poison() ? "still there" : "";
                                   gate.complete();
                                 }));
    machine.compute(0).synchronize();
    EXPECT_EQ(poison, "");
  });
}

TEST(AsynchronousErrors, GatesBringTheirOwn) {
  with_time_limit([] {
    Machine machine(1);
    int skipped = 0;
    machine.engine->enqueue_gate(
        machine.communication(0), keeper([](const Gate& gate) {
          gate.complete(std::make_shared<const Error>(ErrorKind::kCommMismatch, "counts differ"));
        }));
    machine.communication(0).submit(named("skipped"), count(skipped));
    const Error error = error_of([&] { machine.device(0).synchronize(); });
    EXPECT_EQ(error.kind(), ErrorKind::kCommMismatch);
    EXPECT_STREQ(error.what(), "counts differ");
    EXPECT_EQ(skipped, 0);
    // A callback that throws has the same effect as completing with the error.
    machine.engine->enqueue_gate(machine.communication(0), keeper([](const Gate&) {
                                   throw Error(ErrorKind::kIo, "callback");
                                 }));
    EXPECT_STREQ(error_of([&] { machine.device(0).synchronize(); }).what(), "callback");
  });
}

TEST(AsynchronousErrors, OfPostedTasksReachEveryDevice) {
  with_time_limit([] {
    Machine machine(2);
    const auto latch = machine.engine->make_latch();
    Job job([&] {
      latch->complete();
      throw std::runtime_error("posted");
    });
    machine.engine->post(job);
    latch->synchronize();
    for (int rank : machine.ranks) {
      // The task may still be on its way out.
      std::string text;
      while (text.empty()) {
        try {
          machine.device(rank).synchronize();
        } catch (const Error& error) {
          text = error.what();
        }
      }
      EXPECT_EQ(text, "posted");
    }
  });
}

TEST(LaunchBlocking, TheErrorSurfacesAtSubmit) {
  with_time_limit([] {
    Machine machine(1, {.launch_blocking = true});
    int ran = 0;
    machine.compute(0).submit(named("fine"), count(ran));
    EXPECT_EQ(ran, 1);
    const Error error = error_of([&] { machine.compute(0).submit(named("relu", "0"), broken()); });
    EXPECT_STREQ(error.what(), "device sim:0: 'relu' of '0' failed: index 12 is out of range");
    machine.compute(0).submit(named("fine"), count(ran));
    EXPECT_EQ(ran, 2);
    machine.device(0).synchronize();
  });
}

// Collectives do not block their caller, or one thread could not make the calls of all ranks.
TEST(LaunchBlocking, LetsGatesBe) {
  with_time_limit([] {
    Machine machine(2, {.launch_blocking = true});
    Barrier barrier(machine, 2);
    int ran = 0;
    machine.engine->drive([&] {
      for (int rank : machine.ranks) {
        machine.compute(rank).enqueue(count(ran));
        machine.communication(rank).wait(machine.compute(rank).record());
        barrier.enter(rank);
      }
      machine.compute(1).wait(machine.communication(1).record());
      machine.compute(1).enqueue(count(ran));
    });
    EXPECT_EQ(ran, 3);
    machine.engine->run(machine.ranks, [&](int rank) {
      barrier.enter(rank);
      machine.communication(rank).enqueue([](LaunchContext&) {});
    });
  });
}

TEST(LaunchBlocking, IsReadFromTheEnvironment) {
  const auto with = [](const char* value) {
    ::setenv("RINGSIDE_LAUNCH_BLOCKING", value, 1);
    return launch_blocking_from_environment();
  };
  EXPECT_TRUE(with("1"));
  EXPECT_FALSE(with("0"));
  EXPECT_FALSE(with(""));
  EXPECT_TRUE(contains(error_of([&] { with("yes"); }).what(), "RINGSIDE_LAUNCH_BLOCKING='yes'"));
  ::unsetenv("RINGSIDE_LAUNCH_BLOCKING");
  EXPECT_FALSE(launch_blocking_from_environment());
}

}  // namespace
}  // namespace ringside::sim
