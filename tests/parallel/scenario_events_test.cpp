// Events of a scenario under single, dp and ddp: ranks that do otherwise than the others. Those of
// a parameter server are in parameter_server_events_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "parallel/small_run.h"

namespace ringside::test {
namespace {

TEST(ScenarioEvents, ARankThatStopsIsADeadlockWithNames) {
  Scenario scenario = small_scenario("ddp", 3);
  scenario.events = {event_of(ScenarioEvent::Kind::kStop, 2, 5)};
  const std::string message = error_of(scenario, ErrorKind::kDeadlock);
  EXPECT_NE(message.find("all-reduce"), std::string::npos) << message;
  EXPECT_NE(message.find("rank 2"), std::string::npos) << message;
}

// Nobody waits for anybody: the run ends, but is none.
TEST(ScenarioEvents, RanksThatAllStopAreAnErrorWithTheirStep) {
  for (const int step : {0, 2, 5}) {
    Scenario scenario = small_scenario("ddp", 2);
    scenario.steps = 6;
    scenario.events = {event_of(ScenarioEvent::Kind::kStop, 0, step),
                       event_of(ScenarioEvent::Kind::kStop, 1, step)};
    EXPECT_EQ(error_of(scenario, ErrorKind::kRankFailed),
              "ranks 0, 1 stopped before step " + std::to_string(step) +
                  ", and the run has 6 steps: it ended without them, and has no result");
  }
  Scenario alone = small_scenario("ddp", 1);
  alone.steps = 6;
  alone.events = {event_of(ScenarioEvent::Kind::kStop, 0, 1)};
  EXPECT_NE(error_of(alone, ErrorKind::kRankFailed).find("rank 0 stopped before step 1"),
            std::string::npos);
}

TEST(ScenarioEvents, ARankThatStopsIsNamedWithItsStep) {
  Scenario scenario = small_scenario("ddp", 3);
  scenario.events = {event_of(ScenarioEvent::Kind::kStop, 2, 5)};
  try {
    run_quietly(scenario);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("rank 2 stopped before step 5"), std::string::npos) << error.hint();
    EXPECT_NE(std::string(error.what()).find("for bucket 0 of step 5"), std::string::npos)
        << error.what();
  }
}

TEST(ScenarioEvents, AnotherCollectiveThanTheOthersIsAMismatch) {
  Scenario scenario = small_scenario("ddp", 3);
  ScenarioEvent event = event_of(ScenarioEvent::Kind::kOtherCollective, 1, 4);
  event.operation = Operation::kBroadcast;
  scenario.events = {event};
  const std::string message = error_of(scenario, ErrorKind::kCommMismatch);
  EXPECT_NE(message.find("broadcast"), std::string::npos) << message;
  EXPECT_NE(message.find("all-reduce"), std::string::npos) << message;
}

TEST(ScenarioEvents, APerturbedWeightMakesTheRanksDriftApart) {
  Scenario scenario = small_scenario("ddp", 2);
  ScenarioEvent event = event_of(ScenarioEvent::Kind::kPerturb, 1, 2);
  event.parameter = "0.weight";
  event.amount = 1;
  scenario.events = {event};
  const RunReport report = run_quietly(scenario);
  EXPECT_NE(report.rank_checksums[0], report.rank_checksums[1]);
}

TEST(ScenarioEvents, AFrozenParameterIsAnUnusedOne) {
  Scenario scenario = small_scenario("ddp", 2);
  scenario.events = {event_of(ScenarioEvent::Kind::kFreeze, 0, 1),
                     event_of(ScenarioEvent::Kind::kFreeze, 1, 1)};
  for (ScenarioEvent& event : scenario.events) event.parameter = "0.weight";
  const std::string message = error_of(scenario, ErrorKind::kTrainingFailed);
  EXPECT_NE(message.find("Expected to have finished reduction"), std::string::npos) << message;
  EXPECT_NE(message.find("0.weight"), std::string::npos) << message;
}

Scenario two_heads(const std::string& strategy, int devices) {
  Scenario scenario = small_scenario(strategy, devices);
  scenario.model = "mlp:64,16,10:heads";
  scenario.steps = 4;
  return scenario;
}

// On one rank only: the others wait for its buckets, and it is the one that knows why.
TEST(ScenarioEvents, AnUnusedHeadIsReportedByDdpInTheNextForward) {
  Scenario scenario = two_heads("ddp", 3);
  scenario.events = {event_of(ScenarioEvent::Kind::kUnusedHead, 1, 2)};
  const std::string message = error_of(scenario, ErrorKind::kTrainingFailed);
  EXPECT_NE(message.find("Expected to have finished reduction in the prior iteration"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("did not receive grad for rank 1: 4 5 (second.weight, second.bias)"),
            std::string::npos)
      << message;
}

// The error would come in the next forward: after the last step nobody is told, and the ranks have
// drifted apart.
TEST(ScenarioEvents, AnUnusedHeadInTheLastStepIsSilent) {
  Scenario scenario = two_heads("ddp", 2);
  scenario.steps = 1;
  scenario.events = {event_of(ScenarioEvent::Kind::kUnusedHead, 0, 0),
                     event_of(ScenarioEvent::Kind::kUnusedHead, 1, 0)};
  const RunReport report = run_quietly(scenario);
  EXPECT_NE(report.rank_checksums[0], report.rank_checksums[1]);
}

TEST(ScenarioEvents, AModelWithTwoHeadsTrainsAlikeUnderEveryStrategy) {
  const RunReport single = run_quietly(two_heads("single", 1));
  for (const std::string strategy : {"dp", "ddp"}) {
    const RunReport report = run_quietly(two_heads(strategy, 3));
    for (std::size_t step = 0; step < 4; ++step) {
      EXPECT_NEAR(report.step_losses[step], single.step_losses[step], 1e-5) << strategy;
    }
  }
}

// dp.module(x): the step is that of one device.
TEST(ScenarioEvents, ABypassedDataParallelComputesAtHomeAlone) {
  Scenario scenario = small_scenario("dp", 3);
  scenario.steps = 2;
  scenario.events = {event_of(ScenarioEvent::Kind::kBypass, 0, 1)};
  Trace trace;
  run_scenario(scenario, {}, &trace, {});
  const auto computes = [&](int step, int rank) {
    return std::any_of(trace.ops.begin(), trace.ops.end(), [&](const TraceOp& op) {
      return op.step == step && op.rank == rank && op.phase == Phase::kForward;
    });
  };
  EXPECT_TRUE(computes(0, 1));
  EXPECT_TRUE(computes(1, 0));
  EXPECT_FALSE(computes(1, 1));
  const bool has_loss = std::any_of(trace.ops.begin(), trace.ops.end(), [](const TraceOp& op) {
    return op.step == 1 && op.phase == Phase::kLoss && op.kind == OpKind::kCompute;
  });
  EXPECT_TRUE(has_loss);
}

/// The same on every rank.
std::vector<ScenarioEvent> on_all_ranks(ScenarioEvent event, int ranks) {
  std::vector<ScenarioEvent> events;
  for (event.rank = 0; event.rank < ranks; ++event.rank) events.push_back(event);
  return events;
}

TEST(ScenarioEvents, ASlowRankChangesNoNumber) {
  Scenario scenario = small_scenario("ddp", 3);
  scenario.steps = 5;
  const std::string undisturbed = run_quietly(scenario).checksum;
  ScenarioEvent event = event_of(ScenarioEvent::Kind::kSlow, 1, 2);
  event.amount = 40;
  scenario.events = {event};
  const RunReport report = run_quietly(scenario);
  EXPECT_EQ(report.checksum, undisturbed);
  EXPECT_GE(report.seconds, 0.04);
}

// The others' last all-reduces meet what the rank does after its training.
TEST(ScenarioEvents, FewerBatchesOnOneRankAreAMismatch) {
  Scenario scenario = small_scenario("ddp", 3);
  scenario.steps.reset();
  scenario.epochs = 1;
  ScenarioEvent event = event_of(ScenarioEvent::Kind::kFewerBatches, 1, 0);
  event.amount = 2;
  scenario.events = {event};
  const std::string message = error_of(scenario, ErrorKind::kCommMismatch);
  EXPECT_NE(message.find("rank 1 called"), std::string::npos) << message;
}

TEST(ScenarioEvents, NoSyncAccumulatesAndBypassingDrifts) {
  Scenario scenario = small_scenario("ddp", 2);
  scenario.steps = 4;
  const RunReport usual = run_quietly(scenario);
  scenario.events = on_all_ranks(event_of(ScenarioEvent::Kind::kNoSync, 0, 1), 2);
  const RunReport accumulated = run_quietly(scenario);
  EXPECT_NE(accumulated.checksum, usual.checksum);
  EXPECT_EQ(accumulated.rank_checksums[0], accumulated.rank_checksums[1]);
  scenario.events = on_all_ranks(event_of(ScenarioEvent::Kind::kBypass, 0, 1), 2);
  const RunReport bypassed = run_quietly(scenario);
  EXPECT_NE(bypassed.rank_checksums[0], bypassed.rank_checksums[1]);
}

TEST(ScenarioEvents, AnExtraForwardSynchronisesTheBuffersOnceMore) {
  Scenario scenario = small_scenario("ddp", 2);
  scenario.model = "mlp:64,16,10:bn";
  scenario.steps = 3;
  scenario.events = on_all_ranks(event_of(ScenarioEvent::Kind::kExtraForward, 0, 1), 2);
  Trace trace;
  run_scenario(scenario, {}, &trace, {});
  const auto broadcasts = [&](int step) {
    return std::count_if(trace.ops.begin(), trace.ops.end(), [&](const TraceOp& op) {
      return op.step == step && op.rank == 0 && op.phase == Phase::kSyncBuffers &&
             op.kind == OpKind::kCollective;
    });
  };
  EXPECT_GT(broadcasts(2), 0);
  EXPECT_EQ(broadcasts(1), 2 * broadcasts(2));
}

// The hook is on the old tensor, which is no longer used; neither is the new one in the optimiser.
TEST(ScenarioEvents, AReplacedParameterIsAnUnusedOne) {
  Scenario scenario = small_scenario("ddp", 2);
  ScenarioEvent event = event_of(ScenarioEvent::Kind::kReplace, 0, 1);
  event.parameter = "2.weight";
  scenario.events = on_all_ranks(event, 2);
  const std::string message = error_of(scenario, ErrorKind::kTrainingFailed);
  EXPECT_NE(message.find("did not receive grad for rank 0: 2 (2.weight)"), std::string::npos)
      << message;
}

// Before anything is trained.
TEST(ScenarioEvents, AnEventThatCannotHappenIsAnError) {
  Scenario scenario = small_scenario("ddp", 2);
  scenario.steps = 3;
  scenario.events = {event_of(ScenarioEvent::Kind::kSlow, 0, 3)};
  scenario.events.front().amount = 1;
  std::string message = error_of(scenario, ErrorKind::kInvalidArgument);
  EXPECT_EQ(message, "event slow: step 3: the run has 3 steps, counted from 0");
  scenario.events = {event_of(ScenarioEvent::Kind::kUnusedHead, 1, 2)};
  message = error_of(scenario, ErrorKind::kInvalidArgument);
  EXPECT_NE(message.find("event unused-head: Sequential"), std::string::npos) << message;
  scenario.events = {event_of(ScenarioEvent::Kind::kFewerBatches, 1, 0)};
  scenario.events.front().amount = 1000;
  message = error_of(scenario, ErrorKind::kInvalidArgument);
  EXPECT_NE(message.find("event fewer-batches: amount 1000: rank 1 would train nothing"),
            std::string::npos)
      << message;
  scenario.events = {event_of(ScenarioEvent::Kind::kFreeze, 1, 2)};
  scenario.events.front().parameter = "0.wight";
  message = error_of(scenario, ErrorKind::kInvalidArgument);
  EXPECT_NE(message.find("event freeze: there is no parameter '0.wight'"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace ringside::test
