// DataParallel's arithmetic and corners: the sum over replicas, any split, other output devices,
// idle devices, errors.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ringside/error.h"
#include "toy.h"

namespace ringside::test {
namespace {

DataParallelTrainingOptions toy_training(double lr = 0) { return {toy_loss, toy_sgd(lr)}; }

Tensor classes_loss(const Tensor& output, const Tensor& targets) {
  return cross_entropy(output, targets);
}

/// Loss and gradient of one step on x = 1, 2, 3, 4.
struct Outcome {
  double loss;
  double gradient;
};

Outcome step_with(int devices, const DataParallelOptions& options) {
  const auto world = sim_world(devices);
  Outcome outcome{};
  world->drive([&] {
    const int home = options.device_ids.empty() ? 0 : options.device_ids.front();
    Device& device = world->device(home);
    const auto dp = make_data_parallel(toy_model(device), *world, options, toy_training());
    const StepResult result = dp->train_step(toy_batch(device, {1, 2, 3, 4}), 0);
    outcome = {host_value(result.loss, 0), gradient_of(*dp)};
  });
  return outcome;
}

/// Runs `body` in a driven world of 4 and returns the message of the Error it throws.
std::string error_of(const std::function<void(World&)>& body) {
  const auto world = sim_world(4);
  try {
    world->drive([&] { body(*world); });
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DataParallel, SumsTheReplicasGradients) {
  for (const int devices : {1, 2, 3, 4, 7}) {
    const Outcome outcome = step_with(devices, {});
    EXPECT_DOUBLE_EQ(outcome.loss, 13.5) << devices;
    EXPECT_DOUBLE_EQ(outcome.gradient, -20) << devices;
  }
}

TEST(DataParallel, TheSplitDoesNotMatter) {
  DataParallelOptions options;
  options.chunk_sizes = {3, 1};
  EXPECT_DOUBLE_EQ(step_with(2, options).gradient, -20);
}

TEST(DataParallel, DeviceIdsAndOutputDeviceMayBeAnyOfTheWorld) {
  for (const Algorithm algorithm : {Algorithm::kStar, Algorithm::kRing, Algorithm::kTree}) {
    DataParallelOptions options;
    options.device_ids = {3, 1};
    options.output_device = 2;
    options.algorithm = algorithm;
    const Outcome outcome = step_with(4, options);
    EXPECT_DOUBLE_EQ(outcome.loss, 13.5);
    EXPECT_DOUBLE_EQ(outcome.gradient, -20);
  }
}

TEST(DataParallel, ThreeStepsOfSgd) {
  const auto world = sim_world(2);
  world->drive([&] {
    const auto dp = make_data_parallel(toy_model(world->device(0)), *world, {}, toy_training(0.01));
    const std::vector<double> losses{13.5, 9.8, 7.12675};
    const std::vector<double> weights{1.2, 1.37, 1.5145};
    for (int step = 0; step < 3; ++step) {
      const StepResult result = dp->train_step(toy_batch(world->device(0), {1, 2, 3, 4}), step);
      EXPECT_NEAR(host_value(result.loss, 0), losses[static_cast<std::size_t>(step)], 1e-9);
      EXPECT_NEAR(weight_of(*dp), weights[static_cast<std::size_t>(step)], 1e-12);
    }
  });
}

TEST(DataParallel, StateHasTheModulePrefix) {
  const auto world = sim_world(2);
  world->drive([&] {
    const auto dp = make_data_parallel(toy_model(world->device(0)), *world, {}, toy_training());
    EXPECT_EQ(dp->state_dict().front().name, "module.weight");
  });
}

TEST(DataParallel, SplitsAlongAnyDimension) {
  for (const int dim : {0, 1, 2, -1, -2, -3}) {
    SCOPED_TRACE(dim);
    const auto world = sim_world(3);
    world->drive([&] {
      DataParallelOptions options;
      options.dim = dim;
      DataParallel dp(make_tanh(), *world, options);
      std::vector<double> x(2 * 5 * 3);
      std::iota(x.begin(), x.end(), -15.0);
      for (double& value : x) value /= 10;
      const Tensor input = Tensor::from_host(world->device(0), Shape{2, 5, 3}, DType::kFloat64, x,
                                             MemoryKind::kInputs);
      const Tensor output = dp.forward({{input}, {}}).get<Tensor>();
      EXPECT_EQ(output.shape(), input.shape());
      const std::vector<double> values = host_values(output);
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_DOUBLE_EQ(values[i], std::tanh(x[i]));
    });
  }
}

// -1 is the last dimension of each tensor by itself.
TEST(DataParallel, ADimensionFromTheEndGivesTheGradientToo) {
  DataParallelOptions options;
  options.dim = -2;  // the rows of x, t and y
  EXPECT_DOUBLE_EQ(step_with(3, options).loss, 13.5);
  EXPECT_DOUBLE_EQ(step_with(3, options).gradient, -20);
}

TEST(DataParallel, WhatHasNotTheDimensionIsNotGathered) {
  const auto gathered = [](int dim, const Shape& shape) {
    return error_of([&](World& world) {
      DataParallelOptions options;
      options.dim = dim;
      DataParallel dp(make_tanh(), world, options);
      std::vector<Value> outputs;
      for (int rank = 0; rank < 2; ++rank) {
        outputs.emplace_back(
            Tensor::full(world.device(rank), shape, DType::kFloat64, 1, MemoryKind::kOutputs));
      }
      dp.gather(outputs);
    });
  };
  EXPECT_EQ(gathered(0, Shape{}), "no error");
  EXPECT_EQ(gathered(-1, Shape{3}), "no error");
  EXPECT_EQ(gathered(-1, Shape{}),
            "gather: Dimension specified as -1 but tensor has no dimensions");
  EXPECT_EQ(gathered(1, Shape{3}),
            "gather: Dimension out of range (expected to be in range of [-1, 0], but got 1)");
}

// Zeros where PyTorch's DataParallel has zeros, none where a single device has none.
TEST(DataParallel, AnUnusedParameterGetsZeros) {
  const auto second_gradient = [](const auto& make) {
    const auto world = sim_world(2);
    bool is_defined = false;
    std::vector<double> values;
    world->drive([&] {
      Generator generator(0);
      const auto module =
          make_model("mlp:1,1:heads", {world->device(0), DType::kFloat64, generator}, Shape{1}, 1);
      module->use_second_head(false);
      const std::unique_ptr<Strategy> strategy = make(module, *world);
      strategy->train_step(toy_batch(world->device(0), {1, 2, 3, 4}), 0);
      const NamedTensor second = module->named_parameters()[2];
      ASSERT_EQ(second.name, "second.weight");
      is_defined = second.tensor.grad().defined();
      if (is_defined) values = host_values(second.tensor.grad());
    });
    return std::pair{is_defined, values};
  };
  const auto dp = second_gradient([](const std::shared_ptr<Module>& module, World& world) {
    return make_data_parallel(module, world, {}, toy_training());
  });
  EXPECT_TRUE(dp.first);
  EXPECT_EQ(dp.second, (std::vector<double>{0}));
  const auto single = second_gradient([](const std::shared_ptr<Module>& module, World& world) {
    return make_single(module, world, 0, {toy_loss, toy_sgd(0)});
  });
  EXPECT_FALSE(single.first);
}

TEST(DataParallel, HomeIsFullerThanTheOthers) {
  const auto world = sim_world(4);
  world->drive([&] {
    Generator generator(0);
    auto module =
        make_model("mlp:64,128,10", {world->device(0), DType::kFloat32, generator}, Shape{64}, 10);
    const auto dp = make_data_parallel(std::move(module), *world, {}, {classes_loss, toy_sgd(0.1)});
    const std::vector<double> x(16 * 64, 0.5);
    const std::vector<double> y(16, 3);
    dp->train_step(
        {Tensor::from_host(world->device(0), Shape{16, 64}, DType::kFloat32, x,
                           MemoryKind::kInputs),
         Tensor::from_host(world->device(0), Shape{16}, DType::kInt64, y, MemoryKind::kInputs)},
        0);
    EXPECT_GT(world->device(0).memory().peak, world->device(1).memory().peak);
    EXPECT_EQ(world->device(1).memory().peak, world->device(2).memory().peak);
    EXPECT_EQ(world->device(1).memory().used, 0U) << "replicas live for one step";
  });
}

TEST(DataParallel, RefusesWhatCannotBe) {
  const auto with = [](const std::function<void(DataParallelOptions&)>& change) {
    return error_of([&](World& world) {
      DataParallelOptions options;
      change(options);
      const auto dp =
          make_data_parallel(toy_model(world.device(0)), world, options, toy_training());
      dp->train_step(toy_batch(world.device(0), {1, 2, 3, 4}), 0);
    });
  };
  EXPECT_NE(with([](auto& options) {
              options.device_ids = {0, 4};
            }).find("there is no device 4"),
            std::string::npos);
  EXPECT_NE(with([](auto& options) {
              options.device_ids = {0, 1, 0};
            }).find("listed twice"),
            std::string::npos);
  EXPECT_NE(with([](auto& options) { options.output_device = 9; }).find("output_device 9"),
            std::string::npos);
  EXPECT_NE(with([](auto& options) {
              options.device_ids = {1, 0};
            })
                .find("module must have its parameters and buffers on device 1 (device_ids[0]) but "
                      "found one of them on device 0"),
            std::string::npos);
  EXPECT_NE(with([](auto& options) {
              options.chunk_sizes = {3, 2};
            }).find("add up to 5"),
            std::string::npos);
}

TEST(DataParallel, AChunkOfOneRowBreaksBatchNormWithPyTorchsWords) {
  const std::string message = error_of([](World& world) {
    Generator generator(0);
    auto module =
        make_model("mlp:4,3,2:bn", {world.device(0), DType::kFloat64, generator}, Shape{4}, 2);
    const auto dp = make_data_parallel(std::move(module), world, {}, {classes_loss, toy_sgd(0)});
    dp->train_step(
        {Tensor::full(world.device(0), Shape{10, 4}, DType::kFloat64, 1, MemoryKind::kInputs),
         Tensor::full(world.device(0), Shape{10}, DType::kInt64, 0, MemoryKind::kInputs)},
        0);
  });
  EXPECT_NE(message.find("in replica 3 on device 3: "), std::string::npos) << message;
  EXPECT_NE(message.find("Expected more than 1 value per channel when training"), std::string::npos)
      << message;
}

// Where a replica has no rows its forward misses all that is cut; the bare module is called once.
TEST(DataParallel, AFlagGoesToEveryForward) {
  const auto outcome = [](LossPlace loss_in, int devices, bool bypass) {
    const auto world = sim_world(devices);
    std::string message = "no error";
    try {
      world->drive([&] {
        Device& home = world->device(0);
        DataParallelTrainingOptions training = toy_training();
        training.loss_in = loss_in;
        const auto dp = make_data_parallel(toy_model(home), *world, {}, training);
        StepDirectives directives;
        directives.flag_keyword = true;
        directives.bypass = bypass;
        dp->train_step(toy_batch(home, {1, 2, 3}), 0, directives);
      });
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kTrainingFailed);
      message = error.what();
    }
    return message;
  };
  EXPECT_EQ(outcome(LossPlace::kForward, 3, false), "no error");
  EXPECT_EQ(outcome(LossPlace::kForward, 4, false),
            "in replica 3 on device 3: forward() missing 2 required positional arguments: 'input' "
            "and 'target'");
  EXPECT_EQ(outcome(LossPlace::kOutput, 4, false),
            "in replica 3 on device 3: forward() missing 1 required positional argument: 'input'");
  EXPECT_EQ(outcome(LossPlace::kForward, 4, true), "no error");
}

}  // namespace
}  // namespace ringside::test
