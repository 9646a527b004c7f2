// What zero_grad leaves. A parameter that a step does not use stays where it is with PyTorch 2's
// None, while 1.13's zeros let its momentum move it on.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "ringside/scenario.h"
#include "toy.h"

namespace ringside::test {
namespace {

constexpr double kMomentum = 0.5;

OptimizerFactory sgd_with_momentum() {
  return [](std::vector<NamedTensor> parameters) {
    return make_sgd(std::move(parameters), {.lr = 0.01, .momentum = kMomentum});
  };
}

std::shared_ptr<Module> two_heads(Device& device) {
  Generator generator(0);
  return make_model("mlp:1,2,1:heads", {device, DType::kFloat64, generator}, Shape{1}, 1);
}

double bias_of_second_head(const Module& module) {
  for (const NamedTensor& entry : module.named_parameters()) {
    if (entry.name == "second.bias") return host_value(entry.tensor, 0);
  }
  ADD_FAILURE() << "no second.bias";
  return 0;
}

/// How far the bias of the second head moves in a step without that head, by how far it moved in
/// the step before, which had it.
double movement_without_the_head(Module& module, Strategy& strategy) {
  const Batch batch = toy_batch(strategy.input_device(), {1, 2, 3, 4});
  const double at_first = bias_of_second_head(module);
  strategy.train_step(batch, 0, {});
  const double used = bias_of_second_head(module);
  module.use_second_head(false);
  strategy.train_step(batch, 1, {});
  EXPECT_NE(used, at_first);
  return (bias_of_second_head(module) - used) / (used - at_first);
}

double with_single(bool set_to_none) {
  const auto world = sim_world(1);
  double movement = 0;
  world->drive([&] {
    const auto module = two_heads(world->device(0));
    const auto single =
        make_single(module, *world, 0, {toy_loss, sgd_with_momentum(), set_to_none});
    movement = movement_without_the_head(*module, *single);
  });
  return movement;
}

double with_data_parallel(int devices, bool set_to_none) {
  const auto world = sim_world(devices);
  double movement = 0;
  world->drive([&] {
    const auto module = two_heads(world->device(0));
    DataParallelTrainingOptions training{toy_loss, sgd_with_momentum()};
    training.set_to_none = set_to_none;
    const auto dp = make_data_parallel(module, *world, {}, training);
    movement = movement_without_the_head(*module, *dp);
  });
  return movement;
}

double with_ddp(bool set_to_none) {
  const auto world = sim_world(2);
  double movement = 0;
  world->run([&](Rank& rank) {
    const auto module = two_heads(rank.device);
    DdpOptions options;
    options.find_unused_parameters = true;
    options.loss = toy_loss;
    options.optimizer = sgd_with_momentum();
    options.set_to_none = set_to_none;
    const auto ddp = make_ddp(module, rank, options);
    const double own = movement_without_the_head(*module, *ddp);
    if (rank.rank == 0) movement = own;
  });
  return movement;
}

TEST(ZeroGrad, WithoutGradientsAnUnusedParameterStays) {
  EXPECT_EQ(with_single(true), 0);
  EXPECT_EQ(with_data_parallel(1, true), 0);
  EXPECT_EQ(with_ddp(true), 0);
}

TEST(ZeroGrad, WithZerosItsMomentumMovesAnUnusedParameter) {
  EXPECT_NEAR(with_single(false), kMomentum, 1e-12);
  EXPECT_NEAR(with_data_parallel(1, false), kMomentum, 1e-12);
  EXPECT_NEAR(with_ddp(false), kMomentum, 1e-12);
}

// The backward of replicate gives every parameter a gradient: zeros, if no replica used it.
TEST(ZeroGrad, ReplicasGiveZerosInAnyCase) {
  EXPECT_NEAR(with_data_parallel(2, true), kMomentum, 1e-12);
  EXPECT_NEAR(with_data_parallel(2, false), kMomentum, 1e-12);
}

TEST(ZeroGrad, IsAnOptionOfARun) {
  const auto checksum = [](const std::string& strategy, int devices, bool set_to_none) {
    Scenario scenario;
    scenario.strategy = strategy;
    scenario.devices = devices;
    scenario.model = "mlp:64,16,10:heads";
    scenario.batch_size = 24;
    scenario.steps = 3;
    scenario.momentum = kMomentum;
    scenario.find_unused_parameters = strategy == "ddp";
    scenario.set_to_none = set_to_none;
    for (int rank = 0; rank < (strategy == "ddp" ? devices : 1); ++rank) {
      scenario.events.push_back({ScenarioEvent::Kind::kUnusedHead, rank, 1});
    }
    return run_scenario(scenario, {}, nullptr, {}).checksum;
  };
  EXPECT_NE(checksum("single", 1, true), checksum("single", 1, false));
  EXPECT_NE(checksum("dp", 1, true), checksum("dp", 1, false));
  EXPECT_NE(checksum("ddp", 2, true), checksum("ddp", 2, false));
  EXPECT_EQ(checksum("dp", 2, true), checksum("dp", 2, false));
}

}  // namespace
}  // namespace ringside::test
