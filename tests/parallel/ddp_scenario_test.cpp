// DistributedDataParallel's corners as a scenario reaches them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ddp_scenario.h"

namespace ringside::test {
namespace {

using Kind = ScenarioEvent::Kind;

void expect_losses(const RunReport& report, const RunReport& expected) {
  ASSERT_EQ(report.step_losses.size(), expected.step_losses.size());
  for (std::size_t step = 0; step < report.step_losses.size(); ++step) {
    EXPECT_NEAR(report.step_losses[step], expected.step_losses[step], 1e-11) << step;
  }
}

TEST(DdpScenario, AnUnusedHeadIsFoundIfAsked) {
  for (const bool static_graph : {false, true}) {
    Scenario scenario = two_ranks();
    scenario.model = "mlp:64,16,10:heads";
    scenario.find_unused_parameters = !static_graph;
    scenario.static_graph = static_graph;
    // A static graph is the same in every step; the walk allows another one each time.
    for (int step = 0; step < (static_graph ? 6 : 2); ++step) {
      add_event(scenario, Kind::kUnusedHead, 1, step);
    }
    const RunReport report = run(scenario);
    EXPECT_TRUE(ranks_agree(report));
    EXPECT_LT(report.step_losses.back(), report.step_losses.front());
  }
}

TEST(DdpScenario, AStaticGraphThatChangesIsAnError) {
  Scenario scenario = two_ranks();
  scenario.model = "mlp:64,16,10:heads";
  scenario.static_graph = true;
  for (const int rank : {0, 1}) add_event(scenario, Kind::kUnusedHead, rank, 0);
  EXPECT_NE(error_of(scenario).find("Your training graph has changed"), std::string::npos);
}

TEST(DdpScenario, WaysToTheSameNumbers) {
  const std::string expected = run(two_ranks()).checksum;
  Scenario scenario = two_ranks();
  scenario.static_graph = true;
  EXPECT_EQ(run(scenario).checksum, expected);
  scenario = two_ranks();
  scenario.find_unused_parameters = true;
  EXPECT_EQ(run(scenario).checksum, expected);
  for (const bool set_to_none : {true, false}) {
    scenario = two_ranks();
    scenario.gradient_as_bucket_view = true;  // of two ranks, dividing is exact
    scenario.set_to_none = set_to_none;
    EXPECT_EQ(run(scenario).checksum, expected);
  }
  scenario = two_ranks();
  scenario.comm_hook = "allreduce";
  EXPECT_EQ(run(scenario).checksum, expected);
  scenario = two_ranks();
  scenario.join = "initial";
  EXPECT_EQ(run(scenario).checksum, expected);
  scenario = two_ranks();
  scenario.seed_per_rank = true;
  EXPECT_EQ(run(scenario).checksum, expected);
  scenario = two_ranks();
  for (const int rank : {0, 1}) add_event(scenario, Kind::kNoSyncBackward, rank, 2);
  EXPECT_EQ(run(scenario).checksum, expected);
}

TEST(DdpScenario, ViewsSaveTheSecondCopyOfAllGradients) {
  const auto peak = [](bool view) {
    Scenario scenario = two_ranks();
    scenario.gradient_as_bucket_view = view;
    scenario.set_to_none = false;
    return run(scenario).memory.front().peak;
  };
  EXPECT_LT(peak(true), peak(false));
}

TEST(DdpScenario, CompressedGradientsAreOthersButAlike) {
  const std::string exact = run(two_ranks()).checksum;
  for (const std::string hook : {"fp16", "bf16"}) {
    Scenario scenario = two_ranks();
    scenario.comm_hook = hook;
    const RunReport report = run(scenario);
    EXPECT_TRUE(ranks_agree(report)) << hook;
    EXPECT_NE(report.checksum, exact) << hook;
    EXPECT_LT(report.step_losses.back(), report.step_losses.front()) << hook;
  }
}

TEST(DdpScenario, MicroBatchesAreOneBatch) {
  Scenario whole = two_ranks();
  whole.batch_size = 48;
  whole.steps = 5;
  const RunReport expected = run(whole);
  for (const bool no_sync : {true, false}) {
    Scenario scenario = whole;
    scenario.batch_size = 16;
    scenario.accumulate = 3;
    scenario.no_sync = no_sync;
    expect_losses(run(scenario), expected);
    scenario.divide_loss = false;
    scenario.lr /= 3;
    scenario.momentum = whole.momentum;
    expect_losses(run(scenario), expected);
  }
}

TEST(DdpScenario, AnEpochMayEndWithFewerMicroBatches) {
  Scenario scenario = two_ranks();
  scenario.steps.reset();
  scenario.epochs = 2;
  scenario.batch_size = 128;
  const int batches = run(scenario).steps;
  scenario.accumulate = 4;
  EXPECT_EQ(run(scenario).steps, 2 * ((batches / 2 + 3) / 4));
}

TEST(DdpScenario, RanksWithFewerBatchesJoin) {
  for (const std::string join : {"initial", "active"}) {
    Scenario scenario = two_ranks();
    scenario.model = "mlp:64,16,10:bn";
    scenario.devices = 3;
    scenario.steps.reset();
    scenario.epochs = 2;
    scenario.batch_size = 64;
    scenario.join = join;
    add_event(scenario, Kind::kFewerBatches, 0, 0, 2);
    add_event(scenario, Kind::kFewerBatches, 2, 0, 1);
    const RunReport report = run(scenario);
    EXPECT_TRUE(ranks_agree(report)) << join;
    scenario.events.clear();
    scenario.join = "off";
    EXPECT_EQ(report.steps, run(scenario).steps) << join << ": rank 1 has all its batches";
    EXPECT_EQ(report.epochs.size(), 2U);
    for (const double loss : report.step_losses) EXPECT_GT(loss, 0);
  }
}

/// Rank 0 has one batch less than the 2 of rank 1.
Scenario uneven(const std::string& join) {
  Scenario scenario = two_ranks();
  scenario.steps.reset();
  scenario.data = "random:40:64:10";
  scenario.batch_size = 10;
  scenario.join = join;
  add_event(scenario, Kind::kFewerBatches, 0, 0, 1);
  return scenario;
}

TEST(DdpScenario, JoinMayThrow) {
  const Error error = failure_of(uneven("throw"));
  EXPECT_EQ(error.kind(), ErrorKind::kTrainingFailed);
  EXPECT_EQ(error.exit_status(), 1);
  expect_has(error.what(), "exhausted");
  expect_has(error.hint(), "rank 0 has 1 batches in an epoch, rank 1 has 2");
}

TEST(DdpScenario, WithoutJoinItSaysWhoHasNoBatchAndWhatEachCallIsFor) {
  const Error error = failure_of(uneven("off"));
  EXPECT_EQ(error.kind(), ErrorKind::kCommMismatch);
  expect_has(error.what(), "rank 0 called all-reduce(count=2, float64, sum) for the losses of an");
  expect_has(error.what(), " for the forward of step 1");
  expect_has(error.hint(), "rank 0 has 1 batches in an epoch, rank 1 has 2: choose --join initial");
}

TEST(DdpScenario, JoinAndSyncBatchNormExcludeEachOtherUnlessItThrows) {
  for (const std::string join : {"initial", "active", "throw"}) {
    Scenario scenario = uneven(join);
    scenario.model = "mlp:64,16,10:bn";
    scenario.sync_batchnorm = true;
    const Error error = failure_of(scenario);
    if (join == "throw") {
      expect_has(error.what(), "exhausted");
      continue;
    }
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    expect_has(error.what(), "join " + join + ": sync-batchnorm");
  }
}

TEST(DdpScenario, WhatPyTorchWarnsOfIsToldOnceWithTheRanks) {
  Scenario scenario = two_ranks();
  scenario.find_unused_parameters = true;
  std::vector<std::string> warnings = run(scenario).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  expect_has(warnings.front(), "did not find any unused parameters in the forward pass");
  expect_has(warnings.front(), "(all 2 ranks)");

  scenario.model = "mlp:64,16,10:heads";
  for (int step = 0; step < 6; ++step) add_event(scenario, Kind::kUnusedHead, 0, step);
  warnings = run(scenario).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  expect_has(warnings.front(), "(rank 1)");

  scenario = two_ranks();
  scenario.find_unused_parameters = true;
  scenario.static_graph = true;
  warnings = run(scenario).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  expect_has(warnings.front(), "You passed find_unused_parameters=true to DistributedDataParallel");
}

TEST(DdpScenario, ManyShadowedStepsAreASkewToBeWarnedOf) {
  Scenario scenario = uneven("initial");
  scenario.model = "mlp:8,4";
  scenario.data = "random:2424:8:4";
  scenario.batch_size = 1;
  scenario.events.front().amount = 1000;
  EXPECT_TRUE(run(scenario).warnings.empty());
  scenario.events.front().amount = 1001;
  const std::vector<std::string> warnings = run(scenario).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  expect_has(warnings.front(), "Detected uneven input skew of greater than 1000");
  expect_has(warnings.front(), "(rank 0)");
}

TEST(DdpScenario, TheHintOfAnUnfinishedReductionDoesNotAskForWhatIsGiven) {
  Scenario scenario = two_ranks();
  scenario.model = "mlp:64,16,10:heads";
  add_event(scenario, Kind::kUnusedHead, 0, 1);
  expect_has(failure_of(scenario).hint(), "enable unused parameter detection");
  scenario.static_graph = true;
  expect_has(failure_of(scenario).hint(), "leave static_graph out and set find_unused_parameters");
}

TEST(DdpScenario, SyncBatchNormIsOneDevicesBatchNorm) {
  Scenario scenario = two_ranks();
  scenario.model = "mlp:64,16,10:bn";
  scenario.sync_batchnorm = true;
  const RunReport ranks = run(scenario);
  EXPECT_FALSE(ranks.checksum.empty());
  scenario.sync_batchnorm = false;
  const RunReport apart = run(scenario);
  scenario.strategy = "single";
  scenario.devices = 1;
  scenario.batch_size = 32;
  const RunReport single = run(scenario);
  expect_losses(ranks, single);
  EXPECT_GT(std::abs(apart.step_losses.back() - single.step_losses.back()), 1e-6);
}

TEST(DdpScenario, ASecondBackwardMakesTheRanksDriftApart) {
  Scenario scenario = two_ranks();
  for (const int rank : {0, 1}) add_event(scenario, Kind::kSecondBackward, rank, 2);
  EXPECT_FALSE(ranks_agree(run(scenario)));
}

TEST(DdpScenario, ADeviceIdIsRightOnOneRankOnly) {
  Scenario scenario = two_ranks();
  scenario.device_ids = {0};
  EXPECT_NE(error_of(scenario).find("rank 1: device_ids [0]"), std::string::npos);
  scenario.device_ids = {0, 1};
  EXPECT_NE(error_of(scenario).find("can only be None or contain a single element"),
            std::string::npos);
}

TEST(DdpScenario, FrozenParametersStay) {
  for (const std::string strategy : {"single", "dp", "ddp"}) {
    Scenario scenario = two_ranks();
    scenario.strategy = strategy;
    if (strategy == "single") scenario.devices = 1;
    scenario.frozen = "0.weight,0.bias,2.weight";
    const std::string some = run(scenario).checksum;
    scenario.frozen.clear();
    EXPECT_NE(run(scenario).checksum, some) << strategy;
  }
  Scenario all = two_ranks();
  all.frozen = "0.weight,0.bias,2.weight,2.bias";
  expect_has(error_of(all), "DistributedDataParallel is not needed");
  expect_has(error_of(all), "0.weight, 0.bias, 2.weight, 2.bias are frozen");
}

/// Rank 0 has no batch in step 1, the last one.
TEST(DdpScenario, AnEventThatWouldHaveNoEffectIsRefused) {
  Scenario scenario = uneven("initial");
  add_event(scenario, Kind::kSlow, 0, 1, 1);
  expect_has(error_of(scenario), "event slow: step 1: rank 0 has no batch there: it takes 1 of");
  scenario = uneven("initial");
  scenario.steps = 1;
  expect_has(error_of(scenario), "event fewer-batches: amount 1: has no effect: the run ends");
  scenario = uneven("initial");
  scenario.events.front().step = 7;
  expect_has(error_of(scenario), "event fewer-batches: step 7: has no meaning here");
}

TEST(DdpScenario, InsideJoinAnEventThatPartsTheRanksIsRefused) {
  for (const Kind kind :
       {Kind::kExtraForward, Kind::kSecondBackward, Kind::kBypass, Kind::kNoSync}) {
    const std::string name(to_string(kind));
    Scenario scenario = uneven("initial");
    add_event(scenario, kind, 1, 0);
    expect_has(error_of(scenario),
               "event " + name +
                   ": join initial: in step 0 rank 1 would make other collective "
                   "calls than rank 0, which has no such event");
    add_event(scenario, kind, 0, 0);
    EXPECT_GT(run(scenario).steps, 0) << name << " on all ranks";
    if (kind == Kind::kNoSync) continue;
    scenario.events.resize(1);
    add_event(scenario, kind, 1, 1);
    expect_has(error_of(scenario), "rank 0, which has no batch there");
  }
}

TEST(DdpScenario, ALossThatIsNotFiniteAfterAPerturbationIsItsDoing) {
  Scenario scenario = two_ranks();
  scenario.dtype = DType::kFloat32;
  add_event(scenario, Kind::kPerturb, 1, 2, 1e300);
  scenario.events.front().parameter = "2.weight";
  const Error error = failure_of(scenario);
  EXPECT_EQ(error.kind(), ErrorKind::kNotFinite) << error.what();
  expect_has(error.hint(), "rank 1's 2.weight was perturbed by 1e+300 before step 2");
}

}  // namespace
}  // namespace ringside::test
