// Every model learns under every strategy: seconds each, to an accuracy that chance does not give.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "parallel/text_file.h"
#include "ringside/scenario.h"
#include "support/time_limit.h"

namespace ringside::test {
namespace {

constexpr int kReplicas = 2;

/// All strategies see batches of `rows` in all.
Scenario scenario_of(const std::string& strategy, std::int64_t rows) {
  Scenario scenario;
  scenario.strategy = strategy;
  scenario.devices = strategy == "single" ? 1 : kReplicas;
  if (strategy == "ps") {
    scenario.workers = kReplicas;
    scenario.devices = kReplicas + scenario.servers;
  }
  scenario.batch_size = scenario.has_ranks() ? rows / kReplicas : rows;
  scenario.optimizer = "adam";
  return scenario;
}

class Learning : public ::testing::TestWithParam<std::string> {
 protected:
  /// Ranks agree at the end, unless their last batches have moved `buffers` of their own.
  static EpochReport last_epoch(const Scenario& scenario, bool buffers = false) {
    EpochReport last;
    with_time_limit(std::chrono::seconds(300), [&] {
      const RunReport report = run_scenario(scenario, {}, nullptr, {});
      last = report.epochs.back();
      for (const std::string& checksum : report.rank_checksums) {
        EXPECT_TRUE(buffers || checksum == report.checksum) << "the ranks differ";
      }
    });
    return last;
  }
};

// The digits' last rows are hard: a nearest neighbour gets 0.943 of them (docs/data.md).
TEST_P(Learning, AnMlpReadsDigits) {
  Scenario scenario = scenario_of(GetParam(), 32);
  scenario.model = "mlp:64,32,10";
  scenario.lr = 0.01;
  scenario.epochs = 8;
  const EpochReport last = last_epoch(scenario);
  EXPECT_LT(last.loss, 0.12);
  EXPECT_GT(last.test_accuracy, 0.85);
}

TEST_P(Learning, LeNetReadsDigits) {
  Scenario scenario = scenario_of(GetParam(), 16);
  scenario.model = "lenet";
  scenario.lr = 0.003;
  scenario.epochs = 4;
  const EpochReport last = last_epoch(scenario);
  EXPECT_LT(last.loss, 0.3);
  EXPECT_GT(last.test_accuracy, 0.8);
}

TEST_P(Learning, AResidualNetworkReadsDigits) {
  Scenario scenario = scenario_of(GetParam(), 32);
  scenario.model = "resnet:8,16";
  scenario.lr = 0.01;
  scenario.epochs = 6;
  const EpochReport last = last_epoch(scenario, /*buffers=*/true);
  EXPECT_LT(last.loss, 0.15);
  EXPECT_GT(last.test_accuracy, 0.75);
}

// Three words of nine are chance: about log(27) / 35 = 0.1 of a nat for each byte is left, more
// where a sequence begins in the middle of a word. Chance alone is log(256) = 5.5.
TEST_P(Learning, AGptWritesSentences) {
  const TextFile text(6000);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    Scenario scenario = scenario_of(GetParam(), 16);
    scenario.model = "gpt:layers=1,heads=2,width=32,context=16,dropout=0.05";
    scenario.data = text.spec();
    scenario.optimizer = "adamw";
    scenario.weight_decay = 0.01;
    scenario.clip_grad_norm = 1;
    scenario.lr = 0.01;
    scenario.epochs = 8;
    scenario.dtype = dtype;
    const EpochReport last = last_epoch(scenario);
    EXPECT_LT(last.loss, 0.45);
    EXPECT_LT(last.test_loss, 0.4);
    EXPECT_GT(last.test_accuracy, 0.85);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Learning, ::testing::Values("single", "dp", "ddp", "ps"),
                         [](const auto& strategy) { return strategy.param; });

}  // namespace
}  // namespace ringside::test
