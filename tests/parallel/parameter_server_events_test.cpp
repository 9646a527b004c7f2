// The parameter server: options that cannot be, workers that do otherwise than the others, and what
// goes wrong.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ringside/error.h"
#include "server_scenario.h"
#include "toy.h"

namespace ringside::test {
namespace {

// ---------------------------------------------------------------- refused options

std::string refusal_of(World& world, const std::function<void(ParameterServerOptions&)>& change) {
  std::string message = "no error";
  try {
    world.run([&](Rank& rank) {
      ParameterServerOptions options;
      options.workers = 2;
      options.loss = toy_loss;
      options.optimizer = toy_sgd(0);
      change(options);
      make_parameter_server(toy_model(rank.device), rank, options);
    });
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument) << error.what();
    message = error.what();
  }
  return message;
}

TEST(ParameterServer, RefusesOptionsThatCannotBe) {
  const auto refusal = [](int ranks, const std::function<void(ParameterServerOptions&)>& change) {
    return refusal_of(*sim_world(ranks), change);
  };
  using Options = ParameterServerOptions;
  EXPECT_EQ(refusal(3, [](Options& o) { o.server_devices = 0; }),
            "rank 0: server_devices 0: must be at least 1");
  EXPECT_EQ(refusal(3, [](Options& o) { o.workers = 0; }), "rank 0: workers 0: must be at least 1");
  EXPECT_EQ(refusal(3, [](Options& o) { o.worker_devices = -1; }),
            "rank 0: worker_devices -1: must be at least 1");
  EXPECT_EQ(refusal(3, [](Options& o) { o.servers = 0; }), "rank 0: servers 0: must be at least 1");
  EXPECT_EQ(refusal(3, [](Options& o) { o.staleness = -1; }),
            "rank 0: staleness -1: must be at least 0");
  EXPECT_EQ(refusal(5, [](Options& o) { o.server_devices = 3; }),
            "rank 0: server_devices 3: there are 2 workers, and each device of a server serves at "
            "least one");
  EXPECT_EQ(refusal(4, [](Options&) {}),
            "rank 0: 2 workers of 1 and 1 servers of 1 devices need 3 ranks: the world has 4");
  EXPECT_EQ(refusal(3, [](Options& o) { o.workers = o.worker_devices = 1 << 20; }),
            "rank 0: 1048576 workers of 1048576 and 1 servers of 1 devices need 1099511627777 "
            "ranks: the world has 3");
}

// ---------------------------------------------------------------- what goes wrong

Error failure_of(const Scenario& scenario) {
  try {
    run_quietly(scenario);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::kInvalidArgument, "no error"};
}

std::string error_of(const Scenario& scenario) { return failure_of(scenario).what(); }

TEST(ParameterServer, AWorkerThatStopsIsNamed) {
  Scenario scenario = server_scenario(3);
  scenario.events = {{.kind = ScenarioEvent::Kind::kStop, .rank = 1, .step = 2}};
  const std::string message = error_of(scenario);
  EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
  EXPECT_NE(message.find("rank 3 waits in"), std::string::npos) << message;
}

TEST(ParameterServer, AHeadThatIsNotUsedPushesZeros) {
  Scenario scenario = server_scenario(2);
  scenario.model = "mlp:64,16,10:heads";
  scenario.events = {{.kind = ScenarioEvent::Kind::kUnusedHead, .rank = 1, .step = 1}};
  const RunReport run = run_quietly(scenario);
  EXPECT_EQ(run.steps, 12);
  EXPECT_EQ(run.rank_checksums[0], run.rank_checksums[1]);
}

TEST(ParameterServer, AModelSmallerThanItsServersIsAnError) {
  Scenario scenario = server_scenario(2, 651);
  scenario.backend = "meta";
  scenario.model = "mlp:64,10";
  const std::string message = error_of(scenario);
  EXPECT_NE(message.find("651 servers: the model has 650 parameters"), std::string::npos)
      << message;
}

// ---------------------------------------------------------------- events

Scenario with_event(Scenario scenario, ScenarioEvent event) {
  scenario.events = {std::move(event)};
  return scenario;
}

using Kind = ScenarioEvent::Kind;

// One worker of two pushes zeros for it: all have the weights that half of the gradient leads to.
TEST(ParameterServer, AParameterFrozenOnOneWorkerPushesZeros) {
  for (const std::string variant : {"a", "b"}) {
    Scenario scenario = server_scenario(2, 2);
    scenario.variant = variant;
    const RunReport without = run_quietly(scenario);
    const RunReport run = run_quietly(with_event(
        scenario, {.kind = Kind::kFreeze, .rank = 1, .step = 3, .parameter = "0.weight"}));
    EXPECT_EQ(run.rank_checksums[0], run.rank_checksums[1]) << variant;
    EXPECT_NE(run.checksum, without.checksum) << variant;
    EXPECT_EQ(std::vector(run.step_losses.begin(), run.step_losses.begin() + 4),
              std::vector(without.step_losses.begin(), without.step_losses.begin() + 4));
  }
}

// The worker computes with a tensor that it neither pulls into nor pushes the gradient of.
TEST(ParameterServer, AReplacedParameterStaysBehind) {
  for (const std::string variant : {"a", "b"}) {
    Scenario scenario = server_scenario(2);
    scenario.variant = variant;
    const RunReport run = run_quietly(with_event(
        scenario, {.kind = Kind::kReplace, .rank = 1, .step = 3, .parameter = "0.weight"}));
    EXPECT_EQ(run.steps, 12);
    EXPECT_NE(run.rank_checksums[0], run.rank_checksums[1]) << variant;
  }
}

Scenario of_epochs(int workers, int epochs) {
  Scenario scenario = server_scenario(workers);
  scenario.batch_size = 64;
  scenario.steps.reset();
  scenario.epochs = epochs;
  return scenario;
}

TEST(ParameterServer, ASynchronousServerWaitsForTheWorkerWithFewerBatches) {
  for (const std::string variant : {"a", "b"}) {
    Scenario scenario = of_epochs(2, 2);
    scenario.variant = variant;
    const Error error =
        failure_of(with_event(scenario, {.kind = Kind::kFewerBatches, .rank = 1, .amount = 2}));
    EXPECT_EQ(to_string(error.kind()), to_string(ErrorKind::kDeadlock)) << error.what();
    EXPECT_NE(error.hint().find("rank 1 has"), std::string::npos) << error.hint();
    EXPECT_NE(error.hint().find("choose --async"), std::string::npos) << error.hint();
  }
}

TEST(ParameterServer, AnAsynchronousServerGoesOnWithoutTheWorkerWithFewerBatches) {
  for (const int staleness : {0, 2}) {
    Scenario scenario = of_epochs(3, 2);
    scenario.asynchronous = true;
    scenario.staleness = staleness;
    const RunReport all = run_quietly(scenario);
    const RunReport run =
        run_quietly(with_event(scenario, {.kind = Kind::kFewerBatches, .rank = 1, .amount = 2}));
    EXPECT_EQ(run.steps, all.steps);
    EXPECT_NE(run.checksum, all.checksum);
    for (const std::string& checksum : run.rank_checksums) EXPECT_EQ(checksum, run.checksum);
    ASSERT_EQ(run.epochs.size(), 2U);
    EXPECT_LT(run.epochs[1].loss, run.epochs[0].loss);
  }
}

TEST(ParameterServer, DevicesOfAWorkerStepTogether) {
  for (const bool asynchronous : {false, true}) {
    for (const int rank : {0, 1}) {
      Scenario scenario = of_epochs(2, 1);
      scenario.worker_devices = 2;
      scenario.devices = 5;
      scenario.asynchronous = asynchronous;
      const Error error = failure_of(
          with_event(scenario, {.kind = Kind::kFewerBatches, .rank = rank, .amount = 2}));
      EXPECT_EQ(to_string(error.kind()), to_string(ErrorKind::kDeadlock)) << error.what();
      EXPECT_NE(error.hint().find("the devices of a worker step together"), std::string::npos)
          << error.hint();
    }
  }
  Scenario scenario = of_epochs(2, 1);
  scenario.worker_devices = 2;
  scenario.devices = 5;
  scenario.asynchronous = true;
  const int all = run_quietly(scenario).steps;
  scenario.events = {{.kind = Kind::kFewerBatches, .rank = 0, .amount = 2},
                     {.kind = Kind::kFewerBatches, .rank = 1, .amount = 2}};
  EXPECT_EQ(run_quietly(scenario).steps, all);
}

// Nobody waits for batches that no worker has: an epoch is shorter.
TEST(ParameterServer, FewerBatchesOnAllWorkersAreAShorterEpoch) {
  for (const bool asynchronous : {false, true}) {
    Scenario scenario = of_epochs(2, 2);
    scenario.asynchronous = asynchronous;
    const int all = run_quietly(scenario).steps;
    scenario.events = {{.kind = Kind::kFewerBatches, .rank = 0, .amount = 2},
                       {.kind = Kind::kFewerBatches, .rank = 1, .amount = 2}};
    EXPECT_EQ(run_quietly(scenario).steps, all - 4);
  }
}

}  // namespace
}  // namespace ringside::test
