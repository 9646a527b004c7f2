// The parameter server: the same numbers as DistributedDataParallel, the bytes through the servers,
// and where the optimiser's state lies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "server_scenario.h"
#include "toy.h"

namespace ringside::test {
namespace {

// ---------------------------------------------------------------- numbers

/// Losses of every step and the final parameters.
void expect_same_bits(const RunReport& run, const RunReport& expected, const std::string& what) {
  EXPECT_EQ(run.step_losses, expected.step_losses) << what;
  EXPECT_EQ(run.checksum, expected.checksum) << what;
  for (const std::string& checksum : run.rank_checksums) EXPECT_EQ(checksum, run.checksum) << what;
}

// Each push is divided before it is added, and added in the order of the workers: what DDP's ranks
// do by a star.
TEST(ParameterServer, SynchronousMeansHaveTheBitsOfDdp) {
  for (const int workers : {1, 2, 3, 4}) {
    for (const bool adam : {false, true}) {
      Scenario ddp = scenario_of("ddp", workers);
      if (adam) use_adam(ddp);
      const RunReport expected = run_quietly(ddp);
      for (const int servers : {1, 2, 3}) {
        for (const std::string variant : {"a", "b"}) {
          Scenario scenario = server_scenario(workers, servers);
          scenario.variant = variant;
          if (adam) use_adam(scenario);
          const RunReport run = run_quietly(scenario);
          ASSERT_EQ(run.rank_checksums.size(), static_cast<std::size_t>(workers));
          expect_same_bits(run, expected,
                           fmt::format("{} workers, {} servers, {}{}", workers, servers, variant,
                                       adam ? ", adam" : ""));
        }
      }
    }
  }
}

// What is frozen is neither sent nor decayed.
TEST(ParameterServer, FrozenParametersStayAsDdpLeavesThem) {
  Scenario ddp = scenario_of("ddp", 3);
  ddp.frozen = "0.weight,2.bias";
  ddp.weight_decay = 0.1;
  const RunReport expected = run_quietly(ddp);
  for (const std::string variant : {"a", "b"}) {
    Scenario scenario = server_scenario(3, 2);
    scenario.variant = variant;
    scenario.frozen = ddp.frozen;
    scenario.weight_decay = ddp.weight_decay;
    expect_same_bits(run_quietly(scenario), expected, variant);
  }
}

// Buffers stay on their worker, as ddp's do without broadcast-buffers.
TEST(ParameterServer, BuffersAreLocal) {
  Scenario ddp = scenario_of("ddp", 3);
  ddp.model = "mlp:64,16,10:bn";
  ddp.broadcast_buffers = false;
  Scenario scenario = server_scenario(3, 2);
  scenario.model = ddp.model;
  const RunReport run = run_quietly(scenario);
  const RunReport expected = run_quietly(ddp);
  EXPECT_EQ(run.step_losses, expected.step_losses);
  EXPECT_EQ(run.rank_checksums, expected.rank_checksums);
}

// Sums of sums: other additions, the same to rounding.
TEST(ParameterServer, WorkersAndServersOfSeveralDevicesAddUpAlike) {
  Scenario ddp = scenario_of("ddp", 6);
  ddp.dtype = DType::kFloat64;
  const RunReport expected = run_quietly(ddp);
  for (const std::string variant : {"a", "b"}) {
    for (const int server_devices : {1, 2, 3}) {
      Scenario scenario = server_scenario(3, 2);
      scenario.dtype = DType::kFloat64;
      scenario.variant = variant;
      scenario.worker_devices = 2;
      scenario.server_devices = server_devices;
      scenario.devices = 6 + 2 * server_devices;
      const RunReport run = run_quietly(scenario);
      ASSERT_EQ(run.step_losses.size(), expected.step_losses.size());
      for (std::size_t step = 0; step < run.step_losses.size(); ++step) {
        EXPECT_NEAR(run.step_losses[step], expected.step_losses[step], 1e-12) << step;
      }
      ASSERT_EQ(run.rank_checksums.size(), 6U);
      for (const std::string& checksum : run.rank_checksums) EXPECT_EQ(checksum, run.checksum);
    }
  }
}

// A server that sums makes steps as long as a server that divides with N times the learning rate.
TEST(ParameterServer, ASumStepsAsFarAsAMeanWithNTimesTheLearningRate) {
  Scenario mean = server_scenario(4);
  mean.lr = 0.25;
  Scenario sum = mean;
  sum.server_op = "sum";
  sum.lr = mean.lr / 4;
  EXPECT_EQ(run_quietly(sum).checksum, run_quietly(mean).checksum);  // powers of two: exactly
  sum.lr = mean.lr;
  EXPECT_NE(run_quietly(sum).checksum, run_quietly(mean).checksum);
}

/// The gradient that worker 0 updates with, of the toy model whose rank gradients are -8 and -32.
TEST(ParameterServer, AddsUpByHand) {
  for (const bool mean : {false, true}) {
    const auto world = sim_world(3);
    double gradient = 0;
    double weight_there = 0;
    world->run([&](Rank& rank) {
      ParameterServerOptions options;
      options.workers = 2;
      options.server_updates = false;
      options.mean = mean;
      options.loss = toy_loss;
      options.optimizer = toy_sgd(0);
      const auto strategy =
          make_parameter_server(toy_model(rank.device, rank.rank == 1 ? 7 : 1), rank, options);
      Batch batch;
      if (rank.rank == 0) batch = toy_batch(rank.device, {1, 2});
      if (rank.rank == 1) batch = toy_batch(rank.device, {3, 4});
      strategy->train_step(batch, 0);
      if (rank.rank == 0) gradient = gradient_of(*strategy);
      if (rank.rank == 1) weight_there = weight_of(*strategy);
    });
    EXPECT_DOUBLE_EQ(gradient, mean ? -20 : -40);
    EXPECT_DOUBLE_EQ(weight_there, 1) << "all begin with worker 0's parameters";
  }
}

// ---------------------------------------------------------------- asynchronous

TEST(ParameterServer, AsynchronousRunsAreRepeatable) {
  Scenario scenario = server_scenario(3, 2);
  scenario.asynchronous = true;
  scenario.staleness = 2;
  const RunReport first = run_quietly(scenario);
  expect_same_bits(run_quietly(scenario), first, "again");
  EXPECT_NE(first.checksum, run_quietly(server_scenario(3, 2)).checksum)
      << "gradients of older weights, each applied by itself";
  scenario.staleness = 0;
  EXPECT_NE(first.checksum, run_quietly(scenario).checksum);
}

// With one worker nothing is stale: it is training on one device.
TEST(ParameterServer, OneAsynchronousWorkerIsOneDevice) {
  Scenario single = scenario_of("single", 1);
  single.algorithm = Algorithm::kAutomatic;
  Scenario scenario = server_scenario(1);
  scenario.asynchronous = true;
  expect_same_bits(run_quietly(scenario), run_quietly(single), "one worker");
}

TEST(ParameterServer, AnAsynchronousRunOfSeveralEpochsLearns) {
  Scenario scenario = server_scenario(3);
  scenario.asynchronous = true;
  scenario.staleness = 3;
  scenario.batch_size = 16;
  scenario.steps.reset();
  scenario.epochs = 4;
  const RunReport run = run_quietly(scenario);
  ASSERT_EQ(run.epochs.size(), 4U);
  EXPECT_LT(run.epochs.back().loss, 0.5 * run.epochs.front().loss);
  EXPECT_GT(run.epochs.back().test_accuracy, 0.8);
}

// ---------------------------------------------------------------- traffic and memory

// With a mean a term is scaled where it lies before it is added to the sum so far.
TEST(ParameterServer, AnAggregateNamesWhatItReadsAndWrites) {
  const auto aggregates = [](const std::string& operation) {
    Scenario scenario = server_scenario(2);
    scenario.steps = 1;
    scenario.server_op = operation;
    Trace trace;
    run_scenario(scenario, {}, &trace, {});
    std::vector<std::string> texts;
    for (const TraceOp& op : trace.ops) {
      if (op.name != "aggregate") continue;
      std::string text;
      for (const TraceTensor& tensor : op.reads) text += tensor.name + ", ";
      text += "to ";
      for (const TraceTensor& tensor : op.writes) text += tensor.name + ", ";
      texts.push_back(text);
    }
    return texts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(aggregates("sum"), (Texts{"worker 0, to sum, ", "worker 1, sum, to sum, "}));
  EXPECT_EQ(aggregates("mean"), (Texts{"worker 0, to sum, ", "worker 1, sum, to sum, worker 1, "}));
}

struct Bytes {
  std::size_t in = 0;
  std::size_t out = 0;
};

Bytes through(const Trace& trace, int step, int rank) {
  Bytes bytes;
  for (const TransferRow& row : transfers(trace, step)) {
    if (row.primitive != "send") continue;
    if (row.to == std::to_string(rank)) bytes.in += row.bytes;
    if (row.from == std::to_string(rank)) bytes.out += row.bytes;
  }
  return bytes;
}

TEST(ParameterServer, NTimesTheModelGoesIntoAndOutOfTheServers) {
  for (const std::string variant : {"a", "b"}) {
    for (const int servers : {1, 2}) {
      for (const std::string backend : {"sim", "meta"}) {
        Scenario scenario = server_scenario(3, servers);
        scenario.variant = variant;
        scenario.backend = backend;
        Trace trace;
        const RunReport run = run_scenario(scenario, {}, &trace, {});
        const std::size_t model = run.parameter_bytes;
        EXPECT_EQ(model, (64 * 16 + 16 + 16 * 10 + 10) * sizeof(float));
        for (int server = 0; server < servers; ++server) {
          const Bytes bytes = through(trace, 1, 3 + server);
          EXPECT_EQ(bytes.in, 3 * model / static_cast<std::size_t>(servers));
          EXPECT_EQ(bytes.out, bytes.in);
        }
        const Bytes worker = through(trace, 1, 1);
        EXPECT_EQ(worker.in, model);
        EXPECT_EQ(worker.out, model);
      }
    }
  }
}

TEST(ParameterServer, TheOptimizersStateIsWhereTheUpdateIs) {
  const auto state = [](const RunReport& run, std::size_t rank) {
    return run.memory.at(rank).peak_by_kind[static_cast<std::size_t>(MemoryKind::kOptimizerState)];
  };
  Scenario scenario = server_scenario(2, 2);
  use_adam(scenario);
  RunReport run = run_quietly(scenario);
  for (const std::size_t worker : {0U, 1U}) EXPECT_EQ(state(run, worker), 0U);
  for (const std::size_t server : {2U, 3U}) EXPECT_EQ(state(run, server), run.parameter_bytes);
  scenario.variant = "a";
  run = run_quietly(scenario);
  for (const std::size_t worker : {0U, 1U}) EXPECT_EQ(state(run, worker), 2 * run.parameter_bytes);
  for (const std::size_t server : {2U, 3U}) EXPECT_EQ(state(run, server), 0U);
}

TEST(ParameterServer, TheTraceHasItsPhases) {
  const auto phases = [](const Scenario& scenario, int rank) {
    Trace trace;
    run_scenario(scenario, {}, &trace, {});
    EXPECT_EQ(trace_from_json(trace_to_json(trace), "t.json"), trace);
    std::vector<std::string> names;
    for (const TraceOp& op : trace.ops) {
      if (op.step != 1 || op.rank != rank || op.kind == OpKind::kWait || op.kind == OpKind::kHost) {
        continue;
      }
      const std::string name(to_string(op.phase));
      if (names.empty() || names.back() != name) names.push_back(name);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  Scenario scenario = server_scenario(2);
  scenario.steps = 3;
  EXPECT_EQ(phases(scenario, 0),
            (Names{"load", "pull", "forward", "loss", "backward", "push", "loss"}));
  EXPECT_EQ(phases(scenario, 2), (Names{"pull", "push", "aggregate", "update"}));
  scenario.variant = "a";
  EXPECT_EQ(phases(scenario, 0),
            (Names{"load", "forward", "loss", "backward", "push", "pull", "update", "loss"}));
  EXPECT_EQ(phases(scenario, 2), (Names{"push", "aggregate", "pull"}));
}

}  // namespace
}  // namespace ringside::test
