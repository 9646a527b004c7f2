// --verify finds silent faults and names parameter, rank and step.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ringside/error.h"
#include "ringside/scenario.h"

namespace ringside::test {
namespace {

using Kind = ScenarioEvent::Kind;

Scenario stepwise_verified(const std::string& strategy, int devices) {
  Scenario scenario;
  scenario.strategy = strategy;
  scenario.devices = devices;
  scenario.model = "mlp:64,16,10:tanh";
  scenario.data = "random:300:64:10";
  scenario.batch_size = strategy == "dp" ? 64 : 8;
  scenario.momentum = 0.9;
  scenario.steps = 4;
  scenario.verify = true;
  return scenario;
}

/// "message | hint".
std::string fault_of(const Scenario& scenario) {
  try {
    run_scenario(scenario, {}, nullptr, {});
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(ErrorKind::kTrainingFailed)) << error.what();
    return std::string(error.what()) + " | " + error.hint();
  }
  return "no fault";
}

void expect_fault(const Scenario& scenario, const std::vector<std::string>& words) {
  const std::string fault = fault_of(scenario);
  for (const std::string& part : words) EXPECT_NE(fault.find(part), std::string::npos) << fault;
}

std::vector<ScenarioEvent> on_all(int ranks, ScenarioEvent event) {
  std::vector<ScenarioEvent> events;
  for (event.rank = 0; event.rank < ranks; ++event.rank) events.push_back(event);
  return events;
}

TEST(VerificationFaults, APerturbedParameterIsNamedWithItsRank) {
  for (const int rank : {0, 1, 3}) {
    Scenario scenario = stepwise_verified("ddp", 4);
    scenario.events = {{Kind::kPerturb, rank, 1, "2.bias", 1}};
    expect_fault(scenario, {"rank " + std::to_string(rank) + ": verify: after step 1 parameter " +
                                "2.bias is not that of rank " + (rank == 0 ? "1" : "0"),
                            "which 3 of 4 ranks have", "changed or replaced on one rank"});
  }
  Scenario scenario = stepwise_verified("ps", 4);
  scenario.variant = "a";
  scenario.events = {{Kind::kPerturb, 1, 2, "0.bias", 1}};
  expect_fault(scenario, {"rank 1: verify: after step 2 parameter 0.bias is not that of rank 0"});
}

TEST(VerificationFaults, ThePerturbationThatAPullUndoesIsNone) {
  Scenario scenario = stepwise_verified("ps", 4);
  scenario.events = {{Kind::kPerturb, 1, 2, "0.bias", 1}};
  EXPECT_EQ(fault_of(scenario), "no fault");
}

TEST(VerificationFaults, GradientsThatNoRankReducedAreFound) {
  Scenario scenario = stepwise_verified("ddp", 3);
  const std::string apart = "rank 1: verify: after step 2 parameter 0.weight is not that of rank 0";
  scenario.events = on_all(3, {Kind::kBypass, 0, 2});
  expect_fault(scenario, {apart, "a bypassed wrapper"});
  scenario.events = on_all(3, {Kind::kSecondBackward, 0, 2});
  expect_fault(scenario, {apart});
}

TEST(VerificationFaults, ARankThatReducesNothingAloneIsNamed) {
  for (const Kind kind : {Kind::kBypass, Kind::kNoSync}) {
    for (const int rank : {0, 2}) {
      Scenario scenario = stepwise_verified("ddp", 3);
      scenario.events = {{kind, rank, 2}};
      expect_fault(scenario, {"rank " + std::to_string(rank) +
                                  ": verify: after step 2: this rank has ended "
                                  "the step, and others still wait in it",
                              "a wrapper bypassed or a no_sync on this rank alone"});
    }
  }
}

TEST(VerificationFaults, AParameterThatTheReducerLostIsNamed) {
  for (const Kind kind : {Kind::kReplace, Kind::kFreeze}) {
    for (const bool everywhere : {false, true}) {
      Scenario scenario = stepwise_verified("ddp", 3);
      const int rank = everywhere ? 0 : 1;
      scenario.events = {{kind, rank, 3, "2.weight"}};  // the last step: no forward would complain
      if (everywhere) scenario.events = on_all(3, scenario.events.front());
      expect_fault(scenario,
                   {"rank " + std::to_string(rank) + ": verify: after step 3: ",
                    "did not receive grad for rank " + std::to_string(rank) + ": 2 (2.weight)"});
    }
  }
}

// The end of a join sends parameters, not what the optimiser keeps.
TEST(VerificationFaults, AMomentumThatStayedBehindInAJoinIsFound) {
  Scenario scenario = stepwise_verified("ddp", 2);
  scenario.data = "random:60:64:10";  // 50 to train on: 4 batches an epoch
  scenario.steps = 6;
  scenario.join = "active";
  scenario.events = {{Kind::kFewerBatches, 1, 0, "", 1}};
  expect_fault(scenario, {"rank 1: verify: after step 4 parameter 0.weight is not that of rank 0",
                          "stayed behind in a join"});
  scenario.momentum = 0;
  EXPECT_EQ(fault_of(scenario), "no fault");
}

TEST(VerificationFaults, AStepWithoutUpdateIsNotThatOfASingleDevice) {
  Scenario scenario = stepwise_verified("ddp", 2);
  scenario.events = on_all(2, {Kind::kNoSync, 0, 1});
  EXPECT_EQ(fault_of(scenario), "no fault") << "the ranks agree, and step 0 is compared";
  scenario.verify_step = 1;
  expect_fault(scenario, {"rank 0: verify: after step 1 the gradient of 0.weight is not that of a "
                          "single device: element ",
                          "the scenario's events"});
}

TEST(VerificationFaults, OneControllingThreadIsComparedWithASingleDevice) {
  Scenario scenario = stepwise_verified("dp", 2);
  scenario.loss_in = "forward";
  EXPECT_EQ(fault_of(scenario), "no fault") << "equal parts";
  scenario.chunk_sizes = {44, 20};
  expect_fault(scenario, {"verify: after step 0 the gradient of 0.weight is not that of a single "
                          "device: element ",
                          "a mean of means over unequal parts"});
  scenario.chunk_sizes.clear();
  scenario.gathered_loss = "sum";
  expect_fault(scenario, {"the gradient of 0.weight", "gathered-loss sum"});
  for (const std::string strategy : {"single", "dp"}) {
    Scenario changed = stepwise_verified(strategy, strategy == "dp" ? 2 : 1);
    changed.verify_step = 2;
    changed.events = {{Kind::kPerturb, 0, 2, "0.bias", 0.5}};
    expect_fault(changed, {"verify: after step 2 the gradient of 0.weight"});
    changed.events = {{Kind::kFreeze, 0, 1, "2.weight"}};
    expect_fault(changed, {"verify: after step 2 the gradient of "});
    changed.events = {{Kind::kReplace, 0, 2, "2.weight"}};
    expect_fault(changed, {"verify: after step 2 the gradient of 0.weight"});
  }
}

TEST(VerificationFaults, SumsThatAreNotDividedAreNamed) {
  Scenario scenario = stepwise_verified("ps", 3);
  scenario.workers = 2;
  scenario.server_op = "sum";
  expect_fault(scenario, {"verify: after step 0 parameter 0.weight", "server-op sum"});
  scenario.variant = "a";
  expect_fault(scenario, {"verify: after step 0 the gradient of 0.weight", "server-op sum"});
  scenario = stepwise_verified("ddp", 2);
  scenario.accumulate = 2;
  scenario.divide_loss = false;
  expect_fault(scenario, {"verify: after step 0 the gradient of 0.weight", "divide-loss false"});
}

}  // namespace
}  // namespace ringside::test
