// What writing down an op costs, alone: on a device that runs nothing, with and without a recorder,
// and making the trace of what was written.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "ringside/trace.h"
#include "ringside/world.h"

namespace ringside {
namespace {

constexpr int kSteps = 200;
constexpr int kOpsPerStep = 50;

/// Printed as the time that one op takes.
benchmark::Counter per_op(const benchmark::State& state) {
  return {static_cast<double>(state.iterations()) * kSteps * kOpsPerStep,
          benchmark::Counter::kIsRate | benchmark::Counter::kInvert};
}

/// Ops as a model has them: each with a name and a label of its own, two tensors in and one out.
class Model {
 public:
  explicit Model(Device& device) : device_(device) {
    for (int op = 0; op < kOpsPerStep; ++op) {
      const std::string label = "layers." + std::to_string(op / 2);
      ops_.push_back({op % 2 == 0 ? "linear" : "linear-backward", label, label + ".weight",
                      label + ".weight.grad"});
    }
    const Buffer buffer = device.allocate(std::size_t{1} << 20, MemoryKind::kParameters);
    arrays_ = {buffer.array(DType::kFloat32, Shape{64, 512}),
               buffer.array(DType::kFloat32, Shape{512, 512}),
               buffer.array(DType::kFloat32, Shape{64, 512})};
  }

  void train() {
    for (int step = 0; step < kSteps; ++step) {
      device_.context().step = step;
      device_.context().phase = Phase::kForward;
      for (const Op& op : ops_) submit(op);
    }
  }

 private:
  struct Op {
    std::string name;
    std::string label;
    std::string parameter;
    std::string result;
  };

  void submit(const Op& op) {
    const std::array<TensorRef, 2> reads = {
        {{"input", arrays_.data()}, {op.parameter, &arrays_[1]}}};
    const TensorRef written{op.result, &arrays_[2]};
    OpInfo info;
    info.name = op.name;
    info.label = op.label;
    info.flops = 1e6;
    info.reads = reads;
    info.writes = {&written, 1};
    device_.compute().submit(info, {});
  }

  Device& device_;
  std::vector<Op> ops_;
  std::array<DeviceArray, 3> arrays_;
};

std::unique_ptr<World> open_meta() {
  WorldOptions options;
  options.size = 1;
  return open_world("meta", options);
}

TraceOptions everything() {
  TraceOptions options;
  options.last_step = kSteps;
  return options;
}

void unheard(benchmark::State& state) {
  const auto world = open_meta();
  Model model(world->device(0));
  for (auto _ : state) {
    (void)_;
    model.train();
  }
  state.counters["time_per_op"] = per_op(state);
}
BENCHMARK(unheard)->Unit(benchmark::kMicrosecond);

// A recorder for each run, as programs have it: what is said for the first time is in the figure.
void recorded(benchmark::State& state) {
  const auto world = open_meta();
  Model model(world->device(0));
  for (auto _ : state) {
    (void)_;
    Recorder recorder(everything());
    world->device(0).set_listener(&recorder);
    model.train();
    world->device(0).set_listener(nullptr);
  }
  state.counters["time_per_op"] = per_op(state);
}
BENCHMARK(recorded)->Unit(benchmark::kMicrosecond);

void taken(benchmark::State& state) {
  const auto world = open_meta();
  Model model(world->device(0));
  for (auto _ : state) {
    (void)_;
    state.PauseTiming();
    Recorder recorder(everything());
    world->device(0).set_listener(&recorder);
    model.train();
    world->device(0).set_listener(nullptr);
    state.ResumeTiming();
    benchmark::DoNotOptimize(recorder.take({}));
  }
  state.counters["time_per_op"] = per_op(state);
}
BENCHMARK(taken)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ringside

BENCHMARK_MAIN();
