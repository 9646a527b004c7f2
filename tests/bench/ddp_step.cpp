// The time of one DistributedDataParallel training step on simulated devices, for comparison with
// PyTorch's over gloo.
//
// Usage: ddp_step CASE(a|b|c) RANKS [single|traced]. Prints one JSON line: median and mean step
// time of rank 0 after the first tenth, and the losses of step 20 and of the last step (mean over
// ranks), by which any implementation can be checked to do the same work.
//   a: 64-32-10 MLP, 16 samples a rank, lr 0.1, 1000 steps     b: 784-512-512-10 MLP, 64 a rank, lr
//   0.1, 100 steps c: LeNet on 1x28x28, 64 a rank, lr 0.02, 100 steps
// Data and weights come from splitmix64, so that they are the same everywhere (see uniform()).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/strategy.h"
#include "ringside/trace.h"
#include "ringside/world.h"

namespace ringside::bench {
namespace {

constexpr std::int64_t kSamples = 4096;
constexpr std::int64_t kClasses = 10;

/// The top 24 bits of splitmix64(seed * 2^40 + i), in [0, 1).
float uniform(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = (seed << 40) + i + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return static_cast<float>(z >> 40) * 0x1p-24F;
}

struct Case {
  std::string_view model;
  Shape sample;
  std::int64_t rows;
  double lr;
  int steps;
};

Case case_named(std::string_view name) {
  if (name == "a") return {"mlp:64,32,10", Shape{64}, 16, 0.1, 1000};
  if (name == "b") return {"mlp:784,512,512,10", Shape{784}, 64, 0.1, 100};
  if (name == "c") return {"lenet", Shape{1, 28, 28}, 64, 0.02, 100};
  throw std::invalid_argument("case must be a, b or c");
}

struct HostData {
  std::vector<double> inputs;
  std::vector<double> targets;
};

HostData make_data(std::int64_t features) {
  HostData data;
  std::vector<std::int64_t> labels;
  for (std::int64_t s = 0; s < kSamples; ++s) {
    labels.push_back(
        static_cast<std::int64_t>(std::floor(10.0F * uniform(2, static_cast<std::uint64_t>(s)))));
    data.targets.push_back(static_cast<double>(labels.back()));
  }
  for (std::int64_t s = 0; s < kSamples; ++s) {
    for (std::int64_t j = 0; j < features; ++j) {
      const float prototype = uniform(
          1, static_cast<std::uint64_t>(labels[static_cast<std::size_t>(s)] * features + j));
      const float noise = uniform(3, static_cast<std::uint64_t>(s * features + j));
      data.inputs.push_back(0.5F * prototype + 0.5F * noise - 0.5F);
    }
  }
  return data;
}

/// Weights (2u - 1) * sqrt(6 / fan_in), biases zero.
void set_weights(Module& module, Device& device) {
  std::uint64_t layer = 0;
  std::vector<NamedTensor> state;
  for (const NamedTensor& entry : module.named_parameters()) {
    const Shape& shape = entry.tensor.shape();
    std::vector<double> values(static_cast<std::size_t>(shape.numel()), 0);
    if (shape.rank() > 1) {
      const auto bound =
          static_cast<float>(std::sqrt(6.0 / static_cast<double>(shape.numel() / shape[0])));
      for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] = (2.0F * uniform(100 + layer, k) - 1.0F) * bound;
      }
      ++layer;
    }
    state.push_back({entry.name, Tensor::from_host(device, shape, DType::kFloat32, values,
                                                   MemoryKind::kWorkspace)});
  }
  module.load_state_dict(state);
}

struct Times {
  std::vector<double> seconds;
  double loss_20 = 0;
  double last_loss = 0;
};

Batch batch_at(const Tensor& inputs, const Tensor& targets, std::int64_t begin, const Shape& sample,
               std::int64_t rows) {
  std::vector<std::int64_t> sizes{rows};
  for (const std::int64_t size : sample.sizes()) sizes.push_back(size);
  const auto features = static_cast<std::size_t>(sample.numel());
  const auto first = static_cast<std::size_t>(begin);
  return {Tensor::view(inputs.device(), inputs.buffer(), first * features * sizeof(float),
                       Shape(sizes), DType::kFloat32, "input"),
          Tensor::view(targets.device(), targets.buffer(), first * sizeof(std::int64_t),
                       Shape{rows}, DType::kInt64, "targets")};
}

Times train(const Case& work, const HostData& data, Strategy& strategy, int rank, int ranks,
            std::int64_t rows) {
  Device& device = strategy.input_device();
  const Tensor inputs = Tensor::from_host(device, Shape{kSamples, work.sample.numel()},
                                          DType::kFloat32, data.inputs, MemoryKind::kInputs);
  const Tensor targets =
      Tensor::from_host(device, Shape{kSamples}, DType::kInt64, data.targets, MemoryKind::kInputs);
  Times times;
  for (int step = 0; step < work.steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    const std::int64_t first = (step * ranks * rows + rank * rows) % kSamples;
    const StepResult result =
        strategy.train_step(batch_at(inputs, targets, first, work.sample, rows), step);
    const double loss = host_value(result.loss, 0);
    device.synchronize();
    times.seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (step == 20) times.loss_20 = loss;
    times.last_loss = loss;
  }
  return times;
}

void report(std::string_view peer, std::string_view name, int ranks, const Case& work,
            std::vector<Times> all) {
  double loss_20 = 0;
  double last = 0;
  for (const Times& times : all) {
    loss_20 += times.loss_20 / static_cast<double>(all.size());
    last += times.last_loss / static_cast<double>(all.size());
  }
  std::vector<double> warm(all.front().seconds.begin() + work.steps / 10,
                           all.front().seconds.end());
  const double mean =
      std::accumulate(warm.begin(), warm.end(), 0.0) / static_cast<double>(warm.size());
  std::sort(warm.begin(), warm.end());
  const double median = warm[warm.size() / 2];
  fmt::print(
      "{{\"suite\":\"ddp_step\",\"peer\":\"{}\",\"case\":\"{}\",\"ranks\":{},\"steps\":{},"
      "\"us\":{:.1f},\"mean_us\":{:.1f},\"steps_per_s\":{:.1f},\"loss20\":{:.6f},\"loss\":{:.6f}}}"
      "\n",
      peer, name, ranks, work.steps, median * 1e6, mean * 1e6, 1 / median, loss_20, last);
}

enum class Mode { kDdp, kSingle, kTraced };

Mode mode_named(std::string_view name) {
  if (name == "single") return Mode::kSingle;
  if (name == "traced") return Mode::kTraced;
  throw std::invalid_argument("the third argument is 'single' or 'traced', not '" +
                              std::string(name) + "'");
}

std::string_view peer_of(Mode mode) {
  if (mode == Mode::kSingle) return "ours_single";
  return mode == Mode::kTraced ? "ours_traced" : "ours";
}

/// Every op of every step, without the values: what writing down costs.
TraceOptions everything(const Case& work) {
  TraceOptions options;
  options.last_step = work.steps;
  options.values = false;
  return options;
}

void run(std::string_view name, int ranks, Mode mode) {
  const bool single = mode == Mode::kSingle;
  const Case work = case_named(name);
  const HostData data = make_data(work.sample.numel());
  const OptimizerFactory optimizer = [&](std::vector<NamedTensor> parameters) {
    SgdOptions options;
    options.lr = work.lr;
    return make_sgd(std::move(parameters), options);
  };
  const LossFunction loss = [](const Tensor& output, const Tensor& targets) {
    return cross_entropy(output, targets);
  };
  const auto model_on = [&](Device& device) {
    Generator generator(0);
    auto module =
        make_model(work.model, {device, DType::kFloat32, generator}, work.sample, kClasses);
    set_weights(*module, device);
    return module;
  };
  WorldOptions options;
  options.size = single ? 1 : ranks;
  const auto world = open_world("sim", options);
  std::vector<Times> all(static_cast<std::size_t>(options.size));
  Recorder recorder(everything(work));
  if (mode == Mode::kTraced) {
    for (int rank = 0; rank < ranks; ++rank) world->device(rank).set_listener(&recorder);
  }
  if (single) {
    world->drive([&] {
      const auto strategy = make_single(model_on(world->device(0)), *world, 0, {loss, optimizer});
      all[0] = train(work, data, *strategy, 0, 1, work.rows * ranks);
    });
  } else {
    world->run([&](Rank& rank) {
      DdpOptions ddp;
      ddp.loss = loss;
      ddp.optimizer = optimizer;
      const auto strategy = make_ddp(model_on(rank.device), rank, ddp);
      all[static_cast<std::size_t>(rank.rank)] =
          train(work, data, *strategy, rank.rank, ranks, work.rows);
    });
  }
  report(peer_of(mode), name, ranks, work, std::move(all));
  if (mode == Mode::kTraced) {
    const std::size_t ops = recorder.take({}).ops.size();
    fmt::print(stderr, "{} ops a step and rank\n",
               ops / static_cast<std::size_t>(work.steps * ranks));
  }
}

}  // namespace
}  // namespace ringside::bench

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw std::invalid_argument("usage: ddp_step a|b|c RANKS [single|traced]");
    const auto mode = argc > 3 ? ringside::bench::mode_named(argv[3]) : ringside::bench::Mode::kDdp;
    ringside::bench::run(argv[1], std::atoi(argv[2]), mode);
  } catch (const std::exception& error) {
    fmt::print(stderr, "ddp_step: {}\n", error.what());
    return 1;
  }
}
