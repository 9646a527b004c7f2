// A small training run on a simulated device, whose launches run later on other threads: the same
// bits and the same memory as on a device that runs them at once.
#include <gtest/gtest.h>

#include "ringside/error.h"
#include "sim/device/engine.h"
#include "support/inline_device.h"
#include "tensor/cpu_kernels.h"
#include "tensor/random_values.h"

namespace ringside::test {
namespace {

/// What a run leaves: every loss, the last parameters, and the memory account.
struct Outcome {
  std::vector<double> values;
  MemoryAccount memory;
};

class TrainingRun {
 public:
  explicit TrainingRun(Device& device)
      : device_(device),
        parameters_{random_leaf(device, {4, 1, 3, 3}, 1, DType::kFloat32, "0.weight"),
                    random_leaf(device, {4}, 2, DType::kFloat32, "0.bias"),
                    random_leaf(device, {5, 36}, 3, DType::kFloat32, "1.weight"),
                    random_leaf(device, {5}, 4, DType::kFloat32, "1.bias")} {}

  Outcome run(int steps) {
    Outcome outcome;
    std::vector<Tensor> losses;
    losses.reserve(static_cast<std::size_t>(steps));
    for (int step = 0; step < steps; ++step) losses.push_back(train_on(step));
    for (const Tensor& loss : losses) outcome.values.push_back(host_value(loss, 0));
    losses.clear();
    for (const Tensor& parameter : parameters_) {
      const std::vector<double> values = host_values(parameter);
      outcome.values.insert(outcome.values.end(), values.begin(), values.end());
    }
    outcome.memory = device_.memory();
    return outcome;
  }

 private:
  Tensor train_on(int step) {
    const auto seed = static_cast<std::uint32_t>(step);
    const Tensor x = random_leaf(device_, {6, 1, 8, 8}, seed, DType::kFloat32).detach();
    const Tensor features = max_pool2d(relu(conv2d(x, parameters_[0], parameters_[1], {})), {2, 2});
    const Tensor logits = linear(flatten(features), parameters_[2], parameters_[3]);
    const Tensor loss = cross_entropy(logits, targets_of(device_, {0, 1, 2, 3, 4, 0}));
    backward(loss);
    for (Tensor& parameter : parameters_) update(parameter);
    return loss.detach();
  }

  void update(Tensor& parameter) {
    device_.compute().enqueue(
        [p = parameter.array(), g = parameter.grad().array()](LaunchContext& context) {
          context.kernels.sgd(context, p, g, {}, true, SgdOptions{.lr = 0.1});
        });
    parameter.set_grad({});
  }

  Device& device_;
  std::vector<Tensor> parameters_;
};

TEST(SimulatedTraining, HasTheBitsAndTheMemoryOfARunAtOnce) {
  constexpr int kSteps = 5;
  InlineDevice inline_device;
  const Outcome expected = TrainingRun(inline_device).run(kSteps);
  EXPECT_LT(expected.values[kSteps - 1], expected.values[0]) << "the loss falls";

  const auto kernels = make_cpu_kernels();
  for (const int workers : {1, 2, 4}) {
    sim::EngineOptions options;
    options.workers = workers;
    options.random_delay_us = 50;
    options.delay_seed = static_cast<std::uint64_t>(workers);
    sim::Engine engine(options);
    const auto device = engine.make_device(0, "sim:0", 0, *kernels);
    Outcome found;
    engine.drive([&] { found = TrainingRun(*device).run(kSteps); });
    EXPECT_EQ(found.values, expected.values) << workers << " workers";
    EXPECT_EQ(found.memory.peak, expected.memory.peak);
    EXPECT_EQ(found.memory.used_by_kind, expected.memory.used_by_kind);
  }
}

TEST(SimulatedTraining, AWrongTargetSurfacesAtTheNextLookAtAValue) {
  const auto kernels = make_cpu_kernels();
  sim::Engine engine({});
  const auto device = engine.make_device(0, "sim:0", 0, *kernels);
  engine.drive([&] {
    const Tensor logits = random_leaf(*device, {2, 3}, 1);
    const Tensor loss = cross_entropy(logits, targets_of(*device, {0, 3}));
    EXPECT_THROW(host_value(loss, 0), Error);
    const Tensor good = cross_entropy(logits, targets_of(*device, {0, 2}));
    EXPECT_GT(host_value(good, 0), 0) << "the error surfaces once";
  });
}

}  // namespace
}  // namespace ringside::test
