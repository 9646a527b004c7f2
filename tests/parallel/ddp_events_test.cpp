// What a scenario's events let DistributedDataParallel do: what a real PyTorch 1.13.1 does then,
// on gloo, was tried, and its key words are expected here.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ddp_scenario.h"

namespace ringside::test {
namespace {

using Kind = ScenarioEvent::Kind;

/// `kind` on both ranks.
Scenario with_event(Kind kind, int step, const std::string& parameter = {}) {
  Scenario scenario = two_ranks();
  for (const int rank : {0, 1}) {
    add_event(scenario, kind, rank, step);
    scenario.events.back().parameter = parameter;
  }
  return scenario;
}

// ---------------------------------------------------------------- constructor

Scenario other_model(const std::string& model) {
  Scenario scenario = two_ranks();
  add_event(scenario, Kind::kOtherModel, 1, 0);
  scenario.events.back().model = model;
  return scenario;
}

TEST(DdpEvents, OtherNumbersOfParametersAreRefusedByTheConstructor) {
  const std::string message = error_of(other_model("mlp:64,16,16,10"));
  expect_has(message, "DDP expects same model across all ranks, but Rank ");
  expect_has(message, " has 4 params, while rank 1 has inconsistent 6 params");
}

TEST(DdpEvents, OtherShapesAreRefusedByTheConstructor) {
  expect_has(error_of(other_model("mlp:64,12,10")),
             "params[0] (0.weight) in this process with sizes [12, 64] appears not to match sizes "
             "of the same param in process 0");
}

// DDP compares numbers and shapes only: with the same ones, another model is none.
TEST(DdpEvents, ModelsOfTheSameShapesTrainTogether) {
  const RunReport report = run(other_model("mlp:64,16,10:tanh"));
  EXPECT_TRUE(ranks_agree(report));
  EXPECT_NE(report.checksum, run(two_ranks()).checksum);
}

TEST(DdpEvents, AnotherModelThatCannotBeIsRefusedBeforeTheRun) {
  expect_has(error_of(other_model("mlp:64,16,10")),
             "event other-model: model 'mlp:64,16,10': is the one that every rank has");
  expect_has(error_of(other_model("mlp:60,10")), "event other-model: ");
  Scenario scenario = other_model("mlp:64,10");
  scenario.events.push_back(scenario.events.front());
  expect_has(error_of(scenario), "event other-model: rank 1: has 2 of them");
}

// ---------------------------------------------------------------- hooks

TEST(DdpEvents, ASecondCommunicationHookIsRefused) {
  Scenario scenario = with_event(Kind::kRegisterHook, 2);
  scenario.comm_hook = "fp16";
  expect_has(error_of(scenario), "register_comm_hook can only be called once");
}

// PyTorch takes it without a word; what it reduces then is what DDP reduces without it.
TEST(DdpEvents, ALateCommunicationHookIsWarnedOfAndUsed) {
  const RunReport report = run(with_event(Kind::kRegisterHook, 2));
  ASSERT_EQ(report.warnings.size(), 1U);
  expect_has(report.warnings.front(), "should be registered before calling backward");
  EXPECT_EQ(report.checksum, run(two_ranks()).checksum);
  EXPECT_TRUE(run(with_event(Kind::kRegisterHook, 0)).warnings.empty());
}

TEST(DdpEvents, AHookThatOnlySumsTrainsWithWorldSizeTimesTheGradient) {
  Scenario summing = two_ranks();
  summing.comm_hook = "sum";
  const RunReport report = run(summing);
  EXPECT_TRUE(ranks_agree(report));
  Scenario twice = two_ranks();
  twice.lr *= 2;
  const RunReport expected = run(twice);
  for (std::size_t step = 0; step < report.step_losses.size(); ++step) {
    EXPECT_NEAR(report.step_losses[step], expected.step_losses[step], 1e-11) << step;
  }
  summing.verify = true;
  expect_has(failure_of(summing).hint(), "comm-hook sum: nobody divides the gradients");
}

// ---------------------------------------------------------------- gradients

TEST(DdpEvents, AGradientInTheViewsPlaceIsAnError) {
  Scenario scenario = with_event(Kind::kReplaceGradient, 1, "0.weight");
  scenario.gradient_as_bucket_view = true;
  const std::string message = error_of(scenario);
  expect_has(message,
             "Detected at least one parameter gradient is not the expected DDP bucket view with "
             "gradient_as_bucket_view=True");
  expect_has(message, "(0.weight)");
}

// Without views DDP has its copy of the gradient already, and writes the mean over the zeros.
TEST(DdpEvents, WithoutViewsTheMeanReplacesTheOtherGradient) {
  EXPECT_EQ(run(with_event(Kind::kReplaceGradient, 1, "0.weight")).checksum,
            run(two_ranks()).checksum);
}

TEST(DdpEvents, AParameterFrozenAfterWrappingIsNamedByTheNextForward) {
  const Error error = failure_of(with_event(Kind::kFreeze, 2, "0.bias"));
  expect_has(error.what(), "Expected to have finished reduction in the prior iteration before");
  expect_has(error.what(), "'0.bias' was frozen after wrapping");
  expect_has(error.hint(), "--frozen");
}

TEST(DdpEvents, FindUnusedParametersStandsAFrozenOne) {
  Scenario scenario = with_event(Kind::kFreeze, 2, "0.bias");
  scenario.find_unused_parameters = true;
  EXPECT_TRUE(ranks_agree(run(scenario)));
}

// ---------------------------------------------------------------- several forwards

TEST(DdpEvents, OfSummedLossesTheGradientIsReducedOnceAsAWhole) {
  const RunReport report = run(with_event(Kind::kSummedLosses, 2));
  EXPECT_TRUE(ranks_agree(report));
  EXPECT_NE(report.checksum, run(two_ranks()).checksum) << "the step goes twice as far";
}

TEST(DdpEvents, TwoBackwardsOfWhichTheFirstIsNotReducedMarkAParameterTwice) {
  Scenario scenario = with_event(Kind::kSecondBackward, 2);
  scenario.model = "mlp:64,16,10:heads";
  add_event(scenario, Kind::kUnusedHead, 0, 2);
  const std::string message = error_of(scenario);
  expect_has(message, "Expected to mark a variable ready only once");
  expect_has(message, "has been marked as ready twice on rank 0");
}

// The forward after one without gradients takes no buffers of rank 0's.
TEST(DdpEvents, AForwardWithoutGradientsTakesTheBuffersOfTheNextOne) {
  const auto buffers_agree = [](bool no_grad_forward) {
    Scenario scenario = two_ranks();
    scenario.model = "mlp:64,16,10:bn";
    scenario.steps = 3;
    if (no_grad_forward) {
      for (const int rank : {0, 1}) add_event(scenario, Kind::kNoGradForward, rank, 1);
    }
    return run(scenario).rank_checksums;
  };
  const std::vector<std::string> with = buffers_agree(true);
  EXPECT_NE(with, buffers_agree(false));
}

// ---------------------------------------------------------------- what cannot be

TEST(DdpEvents, FreezingEverythingIsRefusedByTheEventsName) {
  Scenario scenario = two_ranks();
  int step = 1;
  for (const char* name : {"0.weight", "0.bias", "2.weight", "2.bias"}) {
    add_event(scenario, Kind::kFreeze, 1, step++);
    scenario.events.back().parameter = name;
  }
  for (const std::string strategy : {"ddp", "single", "dp"}) {
    scenario.strategy = strategy;
    scenario.devices = strategy == "single" ? 1 : 2;
    for (ScenarioEvent& event : scenario.events) event.rank = strategy == "ddp" ? 1 : 0;
    const std::string message = error_of(scenario);
    expect_has(message, "event freeze: with 2.bias frozen before step 4, rank ");
    expect_has(message, "does not require grad and does not have a grad_fn");
  }
}

TEST(DdpEvents, WhatParametersAreReplacedByTrains) {
  Scenario scenario = two_ranks();
  scenario.strategy = "single";
  scenario.devices = 1;
  for (const char* name : {"0.weight", "0.bias", "2.weight", "2.bias"}) {
    add_event(scenario, Kind::kFreeze, 0, 1);
    scenario.events.back().parameter = name;
  }
  add_event(scenario, Kind::kReplace, 0, 1);
  scenario.events.back().parameter = "2.bias";
  EXPECT_EQ(error_of(scenario), "no error");
}

TEST(DdpEvents, OneBackwardOrTwo) {
  Scenario scenario = with_event(Kind::kSummedLosses, 2);
  add_event(scenario, Kind::kSecondBackward, 1, 2);
  expect_has(error_of(scenario), "event summed-losses: step 2: rank 1 has a second-backward there");
}

TEST(DdpEvents, InsideJoinTheyAreForAllRanks) {
  for (const Kind kind : {Kind::kNoGradForward, Kind::kSummedLosses}) {
    Scenario scenario = two_ranks();
    scenario.join = "initial";
    add_event(scenario, kind, 1, 2);
    expect_has(error_of(scenario), "rank 1 would make other collective calls than rank 0");
    add_event(scenario, kind, 0, 2);
    EXPECT_EQ(error_of(scenario), "no error") << to_string(kind);
  }
}

// ---------------------------------------------------------------- registered backwards

/// Of the buckets of the run's last step, each a parameter's.
std::vector<std::string> order_of_buckets(const std::string& model) {
  Scenario scenario = two_ranks();
  scenario.model = model;
  scenario.bucket_cap_mb = scenario.first_bucket_mb = 1e-6;
  std::vector<std::string> order;
  Trace trace;
  run_scenario(scenario, {}, &trace, {});
  for (const auto& bucket : trace.run.buckets) {
    for (const std::string& name : bucket.parameters) order.push_back(name);
  }
  return order;
}

// PyTorch's log says rebuilt_per_bucket_param_indices 1 0 3 2 for both orders of registration.
TEST(DdpEvents, TheRebuildFollowsTheGradientsNotTheRegistration) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(order_of_buckets("mlp:64,16,10"), (Names{"2.bias", "2.weight", "0.bias", "0.weight"}));
  EXPECT_EQ(order_of_buckets("mlp:64,16,10:backwards"),
            (Names{"2.bias", "2.weight", "0.bias", "0.weight"}));
}

/// How many of rank 0's all-reduces of gradients in step 1 are launched before its last gradient of
/// backward goes into a bucket.
std::size_t launched_early(const std::string& model) {
  Scenario scenario = two_ranks();
  scenario.model = model;
  scenario.find_unused_parameters = true;
  scenario.bucket_cap_mb = scenario.first_bucket_mb = 1e-6;
  Trace trace;
  run_scenario(scenario, {}, &trace, {});
  std::vector<int> launched;
  std::size_t early = 0;
  for (const TraceOp& op : trace.ops) {
    if (op.rank != 0 || op.step != 1 || op.bucket < 0) continue;
    if (op.kind == OpKind::kCollective) launched.push_back(op.bucket);
    if (op.phase == Phase::kBackward) early = launched.size();
  }
  EXPECT_EQ(launched, (std::vector<int>{0, 1, 2, 3}));
  return early;
}

TEST(DdpEvents, ABucketThatIsReadyWaitsForEarlierOnes) {
  EXPECT_EQ(launched_early("mlp:64,16,10"), 3U) << "all but that of 0.weight";
  EXPECT_EQ(launched_early("mlp:64,16,10:backwards"), 1U) << "that of 0.bias, which is bucket 0";
}

}  // namespace
}  // namespace ringside::test
