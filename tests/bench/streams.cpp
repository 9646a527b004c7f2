// What a queued task, an event and the way to a stream and back cost on simulated devices.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "ringside/world.h"

namespace ringside {
namespace {

std::unique_ptr<World> open(int devices) {
  WorldOptions options;
  options.size = devices;
  return open_world("sim", options);
}

/// Printed as the time that one of `units` takes.
benchmark::Counter per_unit(double units) {
  return {units, benchmark::Counter::kIsRate | benchmark::Counter::kInvert};
}

// Every rank's thread enqueues 1,000 empty launches and waits for them.
void queued_task(benchmark::State& state) {
  constexpr int kTasks = 1000;
  const auto world = open(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    (void)_;
    world->run([](Rank& rank) {
      for (int repeat = 0; repeat < 100; ++repeat) {
        for (int i = 0; i < kTasks; ++i) rank.device.compute().enqueue([](LaunchContext&) {});
        rank.device.compute().synchronize();
      }
    });
  }
  const double tasks = 100.0 * kTasks * static_cast<double>(state.range(0));
  state.counters["time_per_task"] = per_unit(tasks * static_cast<double>(state.iterations()));
}
BENCHMARK(queued_task)
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->Arg(8)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Host, stream, host: one launch, and the wait for it.
void round_trip(benchmark::State& state) {
  constexpr int kTrips = 10000;
  const auto world = open(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    (void)_;
    world->run([](Rank& rank) {
      for (int i = 0; i < kTrips; ++i) {
        rank.device.compute().enqueue([](LaunchContext&) {});
        rank.device.compute().synchronize();
      }
    });
  }
  const double trips = kTrips * static_cast<double>(state.iterations());
  state.counters["time_per_trip"] = per_unit(trips);
}
BENCHMARK(round_trip)->Arg(1)->Arg(2)->Arg(4)->Arg(8)->UseRealTime()->Unit(benchmark::kMillisecond);

// An event of one stream that another stream waits for, in turns.
void event(benchmark::State& state) {
  constexpr int kEvents = 1000;
  const auto world = open(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    (void)_;
    world->run([](Rank& rank) {
      Stream& compute = rank.device.compute();
      Stream& copy = rank.device.stream(StreamKind::kCopy);
      for (int repeat = 0; repeat < 20; ++repeat) {
        for (int i = 0; i < kEvents / 2; ++i) {
          copy.wait(compute.record());
          compute.wait(copy.record());
        }
        compute.synchronize();
      }
    });
  }
  const double events = 20.0 * kEvents * static_cast<double>(state.range(0) * state.iterations());
  state.counters["time_per_event"] = per_unit(events);
}
BENCHMARK(event)->Arg(1)->Arg(2)->Arg(4)->Arg(8)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ringside

BENCHMARK_MAIN();
