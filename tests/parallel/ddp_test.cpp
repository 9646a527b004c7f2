// DistributedDataParallel's arithmetic and corners: the mean of rank means, buckets, bypassing,
// what it checks.
#include <gtest/gtest.h>

#include <string>

#include "ringside/error.h"
#include "toy.h"

namespace ringside::test {
namespace {

DdpOptions toy_options(double lr = 0) {
  DdpOptions options;
  options.loss = toy_loss;
  options.optimizer = toy_sgd(lr);
  return options;
}

/// The averaged gradient of one step; every rank must see the same.
double gradient_with(const std::vector<std::vector<double>>& x_by_rank,
                     const StepDirectives& directives = {}, int of_rank = 0) {
  const auto world = sim_world(static_cast<int>(x_by_rank.size()));
  std::vector<double> gradients(x_by_rank.size());
  world->run([&](Rank& rank) {
    const auto ddp = make_ddp(toy_model(rank.device), rank, toy_options());
    ddp->train_step(toy_batch(rank.device, x_by_rank[static_cast<std::size_t>(rank.rank)]), 0,
                    directives);
    gradients[static_cast<std::size_t>(rank.rank)] = gradient_of(*ddp);
  });
  return gradients[static_cast<std::size_t>(of_rank)];
}

TEST(Ddp, AveragesTheRanksMeans) {
  EXPECT_DOUBLE_EQ(gradient_with({{1, 2}, {3, 4}}), -20);
  EXPECT_DOUBLE_EQ(gradient_with({{1, 3}, {2, 4}}), -20) << "strided shards";
  EXPECT_NEAR(gradient_with({{1, 2, 3}, {4}}), -80.0 / 3, 1e-12) << "a mean of means, not -20";
  EXPECT_DOUBLE_EQ(gradient_with({{1, 2, 3, 4}, {1, 2, 3, 4}}), -20) << "without a sampler";
}

TEST(Ddp, TheBareModuleSynchronisesNothing) {
  StepDirectives bypass;
  bypass.bypass = true;
  EXPECT_DOUBLE_EQ(gradient_with({{1, 2}, {3, 4}}, bypass, 0), -8);
  EXPECT_DOUBLE_EQ(gradient_with({{1, 2}, {3, 4}}, bypass, 1), -32);
}

TEST(Ddp, NoSyncAccumulatesUntilTheNextSynchronisingStep) {
  const auto world = sim_world(2);
  world->run([&](Rank& rank) {
    const auto ddp = make_ddp(toy_model(rank.device), rank, toy_options());
    const std::vector<std::vector<double>> micro = rank.rank == 0
                                                       ? std::vector<std::vector<double>>{{1}, {3}}
                                                       : std::vector<std::vector<double>>{{2}, {4}};
    StepDirectives no_sync;
    no_sync.no_sync = true;
    ddp->train_step(toy_batch(rank.device, micro[0]), 0, no_sync);
    EXPECT_DOUBLE_EQ(gradient_of(*ddp), rank.rank == 0 ? -4 : -12);
    ddp->train_step(toy_batch(rank.device, micro[1]), 1);
    EXPECT_DOUBLE_EQ(gradient_of(*ddp), (-4.0 - 24 - 12 - 40) / 2);
  });
}

TEST(Ddp, RankZeroWinsAtConstruction) {
  const auto world = sim_world(3);
  world->run([&](Rank& rank) {
    const auto ddp = make_ddp(toy_model(rank.device, 5 + rank.rank), rank, toy_options());
    EXPECT_DOUBLE_EQ(weight_of(*ddp), 5);
    EXPECT_EQ(ddp->state_dict().front().name, "module.weight");
  });
}

TEST(Ddp, NeverComparesWeightsAgain) {
  const auto world = sim_world(2);
  std::vector<double> weights(2);
  world->run([&](Rank& rank) {
    const auto ddp = make_ddp(toy_model(rank.device), rank, toy_options(0.01));
    if (rank.rank == 1) {
      Tensor weight = ddp->module().named_parameters().front().tensor;
      fill_in_place(weight, 2);
    }
    ddp->train_step(toy_batch(rank.device, {1, 2}), 0);
    weights[static_cast<std::size_t>(rank.rank)] = weight_of(*ddp);
  });
  EXPECT_NEAR(weights[1] - weights[0], 1, 1e-12);
}

std::vector<std::size_t> bucket_bytes(const Strategy& ddp) {
  std::vector<std::size_t> bytes;
  for (const TraceRun::Bucket& bucket : ddp.buckets()) bytes.push_back(bucket.bytes);
  return bytes;
}

TEST(Ddp, RebuildsItsBucketsAtTheSecondForward) {
  constexpr std::size_t kMiB = 1024 * 1024;
  WorldOptions world_options;
  world_options.size = 2;
  const auto world = open_world("meta", world_options);  // 40 MiB of parameters that nobody needs
  for (const std::size_t cap : {25 * kMiB, 8 * kMiB}) {
    world->run([&](Rank& rank) {
      Generator generator(0);
      std::vector<std::shared_ptr<Module>> layers;
      for (int i = 0; i < 10; ++i) {
        layers.push_back(make_linear({rank.device, DType::kFloat32, generator}, 1024, 1024, false));
      }
      DdpOptions options = toy_options();
      options.bucket_cap_bytes = cap;
      const auto ddp = make_ddp(make_sequential(std::move(layers)), rank, options);
      EXPECT_EQ(bucket_bytes(*ddp), (std::vector<std::size_t>{40 * kMiB}));
      for (int step = 0; step < 2; ++step) {
        const Tensor input =
            Tensor::empty(rank.device, Shape{4, 1024}, DType::kFloat32, MemoryKind::kInputs);
        ddp->train_step({input, input}, step);
      }
      const auto expected = cap == 25 * kMiB
                                ? std::vector<std::size_t>{4 * kMiB, 28 * kMiB, 8 * kMiB}
                                : std::vector<std::size_t>{4 * kMiB, 8 * kMiB, 8 * kMiB,
                                                           8 * kMiB, 8 * kMiB, 4 * kMiB};
      EXPECT_EQ(bucket_bytes(*ddp), expected);
      EXPECT_EQ(ddp->buckets().front().parameters.front(), "9.weight");
    });
  }
}

/// y = a x; `b` is registered and never used.
class UnusedParameter : public Module {
 public:
  explicit UnusedParameter(Device& device) {
    for (const char* name : {"a", "b"}) {
      Tensor parameter =
          Tensor::full(device, Shape{1, 1}, DType::kFloat64, 1, MemoryKind::kParameters, name);
      parameter.set_requires_grad(true);
      register_parameter(name, parameter);
    }
  }
  Tensor forward(const Tensor& input) override { return linear(input, parameter(0), {}); }
  std::string describe() const override { return "UnusedParameter"; }
  std::shared_ptr<Module> shallow_copy() const override {
    return std::make_shared<UnusedParameter>(*this);
  }
};

TEST(Ddp, AnUnusedParameterIsReportedInTheNextForward) {
  const auto world = sim_world(2);
  std::string message;
  try {
    world->run([&](Rank& rank) {
      const auto ddp =
          make_ddp(std::make_shared<UnusedParameter>(rank.device), rank, toy_options());
      ddp->train_step(toy_batch(rank.device, {1, 2}), 0);  // silent, and not synchronised
      ddp->train_step(toy_batch(rank.device, {1, 2}), 1);
      FAIL() << "no error";
    });
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("Expected to have finished reduction in the prior iteration"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("did not receive grad for rank 0: 1 (b)"), std::string::npos) << message;
}

std::string construction_error(const std::function<std::shared_ptr<Module>(Rank&)>& module_of) {
  const auto world = sim_world(3);
  try {
    world->run([&](Rank& rank) { make_ddp(module_of(rank), rank, toy_options()); });
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Ddp, VerifiesThatAllRanksHaveTheSameModel) {
  const auto sized = [](Rank& rank, std::int64_t width, int layers) {
    Generator generator(0);
    std::vector<std::shared_ptr<Module>> modules;
    for (int i = 0; i < layers; ++i) {
      modules.push_back(make_linear({rank.device, DType::kFloat64, generator}, width, width));
    }
    return make_sequential(std::move(modules));
  };
  const std::string counts =
      construction_error([&](Rank& rank) { return sized(rank, 3, rank.rank == 1 ? 2 : 1); });
  EXPECT_NE(counts.find("DDP expects same model across all ranks"), std::string::npos) << counts;
  EXPECT_NE(counts.find("4 params"), std::string::npos) << counts;
  const std::string shapes =
      construction_error([&](Rank& rank) { return sized(rank, rank.rank == 2 ? 4 : 3, 1); });
  EXPECT_NE(shapes.find("[2]: params[0] (0.weight) in this process with sizes [4x4]"),
            std::string::npos)
      << shapes;
  EXPECT_NE(shapes.find("[3x3]"), std::string::npos) << shapes;
}

TEST(Ddp, IsNotNeededWithoutParameters) {
  const std::string message = construction_error([](Rank&) { return make_relu(); });
  EXPECT_NE(message.find("not needed"), std::string::npos) << message;
}

}  // namespace
}  // namespace ringside::test
