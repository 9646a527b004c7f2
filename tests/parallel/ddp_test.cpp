// DistributedDataParallel as a strategy: the mean of rank means, bypassing, no_sync, what it
// checks.
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
  EXPECT_NE(shapes.find("[2]: params[0] (0.weight) in this process with sizes [4, 4]"),
            std::string::npos)
      << shapes;
  EXPECT_NE(shapes.find("[3, 3]"), std::string::npos) << shapes;
}

TEST(Ddp, IsNotNeededWithoutParameters) {
  const std::string message = construction_error([](Rank&) { return make_relu(); });
  EXPECT_NE(message.find("not needed"), std::string::npos) << message;
}

}  // namespace
}  // namespace ringside::test
