// A steady training step takes nothing from the heap.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "ringside/strategy.h"
#include "ringside/world.h"
#include "support/counted_allocations.h"

namespace ringside {
namespace {

constexpr int kWarmUp = 20;
constexpr int kCounted = 21;
constexpr std::int64_t kRows = 8;

struct Model {
  const char* name;
  Shape sample;
};
// GoogleTest looks for it under this name.
// NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

/// Allocations of a step, of all threads, after the first steps: the median, because now and then a
/// list grows once more, when a rank is further ahead than ever before. Every rank calls it.
std::int64_t steady_allocations(Strategy& strategy, const Model& model) {
  Device& device = strategy.input_device();
  std::vector<std::int64_t> sizes{kRows};
  for (const std::int64_t size : model.sample.sizes()) sizes.push_back(size);
  const Batch batch{Tensor::full(device, Shape(sizes), DType::kFloat32, 0.5, MemoryKind::kInputs,
                                 "inputs with a name that is not short"),
                    Tensor::full(device, Shape{kRows}, DType::kInt64, 1, MemoryKind::kInputs)};
  std::array<std::int64_t, kCounted> counts{};
  for (int step = -kWarmUp; step < kCounted; ++step) {
    const std::int64_t before = test::allocations_so_far();
    const StepResult result = strategy.train_step(batch, kWarmUp + step);
    EXPECT_GT(host_value(result.loss, 1), 0);
    if (step >= 0) counts[static_cast<std::size_t>(step)] = test::allocations_so_far() - before;
  }
  std::nth_element(counts.begin(), counts.begin() + kCounted / 2, counts.end());
  return counts[kCounted / 2];
}

const OptimizerFactory kSgd = [](std::vector<NamedTensor> parameters) {
  return make_sgd(std::move(parameters), {});
};
const LossFunction kLoss = [](const Tensor& output, const Tensor& targets) {
  return cross_entropy(output, targets);
};

std::shared_ptr<Module> model_on(Device& device, const Model& model) {
  Generator generator(0);
  return make_model(model.name, {device, DType::kFloat32, generator}, model.sample, 10);
}

class SteadyStep : public testing::TestWithParam<Model> {};
INSTANTIATE_TEST_SUITE_P(Models, SteadyStep,
                         testing::Values(Model{"mlp:64,32,10", Shape{64}},
                                         Model{"lenet", Shape{1, 28, 28}}));

TEST_P(SteadyStep, OfOneDeviceAllocatesNothing) {
  WorldOptions options;
  options.size = 1;
  const auto world = open_world("sim", options);
  std::int64_t count = -1;
  world->drive([&] {
    const auto strategy =
        make_single(model_on(world->device(0), GetParam()), *world, 0, {kLoss, kSgd});
    count = steady_allocations(*strategy, GetParam());
  });
  EXPECT_EQ(count, 0);
}

/// Of a rank that falls behind, the other's steps are counted with this one's.
constexpr std::int64_t kNextToNothing = 4;

class SteadyDdpStep : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SteadyDdpStep, testing::Values(1, 2));

TEST_P(SteadyDdpStep, AllocatesNextToNothing) {
  WorldOptions options;
  options.size = GetParam();
  const auto world = open_world("sim", options);
  const Model model{"lenet", Shape{1, 28, 28}};  // its gradients fit one bucket
  std::int64_t count = -1;
  world->run([&](Rank& rank) {
    DdpOptions ddp;
    ddp.loss = kLoss;
    ddp.optimizer = kSgd;
    const auto strategy = make_ddp(model_on(rank.device, model), rank, ddp);
    const std::int64_t counted = steady_allocations(*strategy, model);
    if (rank.rank == 0) count = counted;
  });
  EXPECT_LE(count, kNextToNothing);
}

}  // namespace
}  // namespace ringside
