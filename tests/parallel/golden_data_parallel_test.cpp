// DataParallel's golden numbers, each a test by its number: y = w x without bias, w = 1, x = 1, 2,
// 3, 4, t = 2x + 1, mean squared error.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "ringside/error.h"
#include "ringside/scenario.h"
#include "toy.h"

namespace ringside::test {
namespace {

/// One step on as many devices as there are chunks.
struct Outcome {
  double loss = 0;
  double gradient = 0;                 ///< of the master: the sum
  std::vector<double> replica_losses;  ///< with the loss in forward
};

Outcome step_on(const std::vector<std::int64_t>& chunks, LossPlace place,
                LossReduction reduction = LossReduction::kMean) {
  const auto world = sim_world(static_cast<int>(chunks.size()));
  DataParallelOptions options;
  options.chunk_sizes = chunks;
  Outcome outcome;
  world->drive([&] {
    const LossFunction loss = [&](const Tensor& output, const Tensor& targets) {
      Tensor value = toy_loss(output, targets);
      outcome.replica_losses.push_back(host_value(value, 0));
      return value;
    };
    const auto dp = make_data_parallel(toy_model(world->device(0)), *world, options,
                                       {loss, toy_sgd(0), place, reduction});
    const StepResult result = dp->train_step(toy_batch(world->device(0), {1, 2, 3, 4}), 0);
    outcome.loss = host_value(result.loss, 0);
    outcome.gradient = gradient_of(*dp);
  });
  return outcome;
}

/// What each replica adds to the sum: the gradients of copies that nothing connects to the master.
std::vector<double> replica_gradients(const std::vector<std::int64_t>& chunks) {
  const auto world = sim_world(static_cast<int>(chunks.size()));
  DataParallelOptions options;
  options.chunk_sizes = chunks;
  std::vector<double> gradients;
  world->drive([&] {
    DataParallel dp(toy_model(world->device(0)), *world, options);
    const Batch batch = toy_batch(world->device(0), {1, 2, 3, 4});
    std::vector<Tensor> weights;
    const Value output = dp.forward({{batch.inputs}, {}}, [&](Module& replica, const Arguments& a) {
      Tensor weight = replica.named_parameters().front().tensor.detach();
      weight.set_requires_grad(true);
      replica.replace_tensors({weight}, {});
      weights.push_back(weight);
      return replica.call(a);
    });
    backward(toy_loss(output.get<Tensor>(), batch.targets));
    for (const Tensor& weight : weights) gradients.push_back(host_value(weight.grad(), 0));
  });
  return gradients;
}

using Numbers = std::vector<double>;

TEST(Golden, G03TwoReplicasGradientsAreSummedNotAveraged) {
  EXPECT_EQ(replica_gradients({2, 2}), (Numbers{-4, -16}));
  EXPECT_DOUBLE_EQ(step_on({2, 2}, LossPlace::kOutput).gradient, -20);
}

TEST(Golden, G04FourReplicas) {
  EXPECT_EQ(replica_gradients({1, 1, 1, 1}), (Numbers{-1, -3, -6, -10}));
  EXPECT_DOUBLE_EQ(step_on({1, 1, 1, 1}, LossPlace::kOutput).gradient, -20);
}

TEST(Golden, G05TheSplitDoesNotMatter) {
  EXPECT_EQ(replica_gradients({3, 1}), (Numbers{-10, -10}));
  EXPECT_DOUBLE_EQ(step_on({3, 1}, LossPlace::kOutput).gradient, -20);
}

TEST(Golden, G06TheMeanOfLossesOfEqualParts) {
  const Outcome outcome = step_on({2, 2}, LossPlace::kForward);
  EXPECT_EQ(outcome.replica_losses, (Numbers{6.5, 20.5}));
  EXPECT_DOUBLE_EQ(outcome.loss, 13.5);
  EXPECT_DOUBLE_EQ(outcome.gradient, -20);
}

TEST(Golden, G07TheirSumIsTwiceTooLarge) {
  const Outcome outcome = step_on({2, 2}, LossPlace::kForward, LossReduction::kSum);
  EXPECT_DOUBLE_EQ(outcome.loss, 27);
  EXPECT_DOUBLE_EQ(outcome.gradient, -40);
}

TEST(Golden, G08TheMeanOfMeansWeighsTheLoneSampleThreeTimes) {
  const Outcome outcome = step_on({3, 1}, LossPlace::kForward);
  EXPECT_NEAR(outcome.loss, 52.0 / 3, 1e-12);
  EXPECT_NEAR(outcome.gradient, -80.0 / 3, 1e-12);
}

TEST(Golden, G29AWrappedOptimizerZeroesNothingAndHasNoStep) {
  const auto world = sim_world(2);
  world->drive([&] {
    const auto dp =
        make_data_parallel(toy_model(world->device(0)), *world, {}, {toy_loss, toy_sgd(0)});
    dp->train_step(toy_batch(world->device(0), {1, 2, 3, 4}), 0);
    StepDirectives wrapped;
    wrapped.wrapped_optimizer = true;
    try {
      dp->train_step(toy_batch(world->device(0), {1, 2, 3, 4}), 1, wrapped);
      ADD_FAILURE() << "step() was found";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kTrainingFailed);
      EXPECT_STREQ(error.what(), "'DataParallel' object has no attribute 'step'");
    }
    EXPECT_DOUBLE_EQ(gradient_of(*dp), -40) << "the first step's -20 were not zeroed";
  });
}

TEST(Golden, G32TheBytesOfAStep) {
  Scenario scenario;
  scenario.strategy = "dp";
  scenario.devices = 4;
  scenario.model = "mlp:1000,1000";
  scenario.data = "random:128:1000:1000";
  scenario.batch_size = 64;
  scenario.steps = 1;
  Trace trace;
  run_scenario(scenario, {}, &trace, {});
  const auto bytes_in = [&](Phase phase) {
    std::size_t bytes = 0;
    for (const TransferRow& row : transfers(trace, 0)) bytes += row.phase == phase ? row.bytes : 0;
    return bytes;
  };
  const std::vector<std::pair<Phase, std::size_t>> expected{{Phase::kScatterInput, 3 * 64'000},
                                                            {Phase::kReplicate, 3 * 4'004'000},
                                                            {Phase::kGatherOutput, 3 * 64'000},
                                                            {Phase::kScatterGrad, 3 * 64'000},
                                                            {Phase::kReduceGrad, 3 * 4'004'000}};
  std::size_t all = 0;
  for (const auto& [phase, bytes] : expected) {
    EXPECT_EQ(bytes_in(phase), bytes) << to_string(phase);
    all += bytes_in(phase);
  }
  EXPECT_EQ(all, 24'600'000U);
}

}  // namespace
}  // namespace ringside::test
