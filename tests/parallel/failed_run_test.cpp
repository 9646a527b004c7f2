// A run that fails leaves the trace of what it had done: the same every time, and one that can be
// read again.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ringside/error.h"
#include "ringside/scenario.h"

namespace ringside::test {
namespace {

Scenario scenario_of(const std::string& strategy, int devices) {
  Scenario scenario;
  scenario.strategy = strategy;
  scenario.devices = devices;
  scenario.model = "mlp:64,16,10:heads";
  scenario.batch_size = 16;
  scenario.steps = 6;
  return scenario;
}

Trace trace_of_failure(const Scenario& scenario, int last_step = 5) {
  Trace trace;
  TraceOptions options;
  options.last_step = last_step;
  try {
    run_scenario(scenario, options, &trace, {});
    ADD_FAILURE() << "the run did not fail";
  } catch (const Error& error) {
    EXPECT_EQ(trace.run.failure, error.what());
  }
  return trace;
}

/// The ranks that have ops in `step`.
std::vector<int> ranks_in(const Trace& trace, int step) {
  std::vector<int> ranks;
  for (const TraceOp& op : trace.ops) {
    if (op.step == step) ranks.push_back(op.rank);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

bool has(const Trace& trace, int step, Phase phase) {
  return std::any_of(trace.ops.begin(), trace.ops.end(), [&](const TraceOp& op) {
    return op.step == step && op.phase == phase && op.kind != OpKind::kWait;
  });
}

TEST(FailedRun, ARankThatStopsLeavesTheStepWithoutIt) {
  Scenario scenario = scenario_of("ddp", 3);
  scenario.events = {{.kind = ScenarioEvent::Kind::kStop, .rank = 2, .step = 3}};
  const Trace trace = trace_of_failure(scenario);
  EXPECT_EQ(trace.run.failed_step, 3);
  EXPECT_EQ(trace.steps().back(), 3);
  EXPECT_EQ(ranks_in(trace, 2), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(ranks_in(trace, 3), (std::vector<int>{0, 1}));
  EXPECT_TRUE(has(trace, 3, Phase::kBackward));
  EXPECT_FALSE(has(trace, 3, Phase::kAllReduce)) << "its all-reduce never came about";
  EXPECT_TRUE(has(trace, 2, Phase::kUpdate));
  EXPECT_EQ(trace.run.buckets.size(), 1U);
  EXPECT_GT(trace.run.parameters, 0U);
}

TEST(FailedRun, AMismatchLeavesWhatCameBeforeIt) {
  Scenario scenario = scenario_of("ddp", 2);
  scenario.events = {{.kind = ScenarioEvent::Kind::kOtherCollective, .rank = 1, .step = 1}};
  const Trace trace = trace_of_failure(scenario);
  EXPECT_EQ(trace.run.failed_step, 1);
  EXPECT_EQ(trace_from_json(trace_to_json(trace), "t.json"), trace);
}

TEST(FailedRun, AnUnusedHeadFailsTheStepInWhichItIsMissed) {
  Scenario scenario = scenario_of("ddp", 3);
  scenario.events = {{.kind = ScenarioEvent::Kind::kUnusedHead, .rank = 1, .step = 2}};
  const Trace trace = trace_of_failure(scenario);
  EXPECT_EQ(trace.run.failed_step, 2) << "the others have not finished it";
  EXPECT_TRUE(has(trace, 2, Phase::kBackward));
}

TEST(FailedRun, WithTooLittleMemoryItGoesAsFarAsThereIsSome) {
  for (const std::string strategy : {"single", "dp", "ddp"}) {
    for (const std::size_t memory : {6'000, 12'000, 20'000, 24'000, 30'000}) {
      Scenario scenario = scenario_of(strategy, strategy == "single" ? 1 : 2);
      scenario.memory = memory;
      Trace trace;
      try {
        run_scenario(scenario, {}, &trace, {});
      } catch (const Error&) {
        EXPECT_NE(trace.run.failure.find("out of memory"), std::string::npos);
      }
      EXPECT_EQ(trace_from_json(trace_to_json(trace), "t.json"), trace) << strategy << memory;
    }
  }
}

// 256 rows at once, where a training batch has 16.
TEST(FailedRun, InItsLastEvaluationHasFinishedEveryStep) {
  for (const std::string strategy : {"single", "dp", "ddp"}) {
    Scenario scenario = scenario_of(strategy, strategy == "single" ? 1 : 2);
    scenario.memory = 60'000;
    const Trace trace = trace_of_failure(scenario);
    EXPECT_EQ(trace.run.failed_step, -1) << strategy;
    EXPECT_TRUE(has(trace, 5, Phase::kUpdate)) << strategy;
    EXPECT_EQ(trace_from_json(trace_to_json(trace), "t.json"), trace);
  }
}

TEST(FailedRun, BeforeTrainingKnowsItsModelAllTheSame) {
  for (const std::string strategy : {"single", "dp", "ddp"}) {
    Scenario scenario = scenario_of(strategy, strategy == "single" ? 1 : 2);
    scenario.memory = 6'000;
    const Trace trace = trace_of_failure(scenario);
    EXPECT_EQ(trace.run.failed_step, 0) << strategy;
    EXPECT_EQ(trace.run.parameters, 64U * 16 + 16 + 2 * (16 * 10 + 10)) << strategy;
    EXPECT_EQ(trace.run.parameter_bytes, 4 * trace.run.parameters) << strategy;
  }
}

TEST(FailedRun, BehindTheRecordedStepsLeavesThemWhole) {
  Scenario scenario = scenario_of("ddp", 2);
  scenario.events = {{.kind = ScenarioEvent::Kind::kStop, .rank = 1, .step = 4}};
  const Trace trace = trace_of_failure(scenario, 2);
  EXPECT_EQ(trace.run.failed_step, 4);
  EXPECT_EQ(trace.steps(), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(has(trace, 2, Phase::kUpdate));
}

TEST(FailedRun, LeavesTheSameTraceEveryTime) {
  Scenario scenario = scenario_of("ddp", 4);
  scenario.events = {{.kind = ScenarioEvent::Kind::kStop, .rank = 1, .step = 2}};
  const Trace expected = trace_of_failure(scenario);
  for (int again = 0; again < 10; ++again) {
    const Trace trace = trace_of_failure(scenario);
    EXPECT_EQ(trace.ops, expected.ops);
  }
}

TEST(FailedRun, ThatNeverOpenedItsDevicesLeavesNothing) {
  Scenario scenario = scenario_of("ddp", 2);
  scenario.model = "mlp:63,10";
  Trace trace;
  EXPECT_THROW(run_scenario(scenario, {}, &trace, {}), Error);
  EXPECT_TRUE(trace.ops.empty());
}

}  // namespace
}  // namespace ringside::test
