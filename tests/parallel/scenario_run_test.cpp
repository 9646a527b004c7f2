// Whole runs: the three strategies agree, results do not depend on timing, failures are told, meta
// records what sim records.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "ringside/error.h"
#include "ringside/scenario.h"
#include "support/selection.h"
#include "toy.h"

namespace ringside::test {
namespace {

Scenario small_scenario(const std::string& strategy, int devices) {
  Scenario scenario;
  scenario.strategy = strategy;
  scenario.devices = devices;
  scenario.model = "mlp:64,16,10";
  scenario.batch_size = strategy == "ddp" ? 48 / devices : 48;
  scenario.steps = 40;
  scenario.lr = 0.2;
  scenario.momentum = 0.5;
  scenario.seed = 3;
  return scenario;
}

RunReport run_quietly(const Scenario& scenario) { return run_scenario(scenario, {}, nullptr, {}); }

TEST(ScenarioRun, AllStrategiesTrainAlike) {
  Scenario scenario = small_scenario("single", 1);
  scenario.dtype = DType::kFloat64;
  const RunReport single = run_quietly(scenario);
  ASSERT_EQ(single.step_losses.size(), 40U);
  EXPECT_LT(single.step_losses.back(), 0.6 * single.step_losses.front());
  for (const std::string strategy : {"dp", "ddp"}) {
    for (const int devices : {2, 3, 4}) {
      scenario = small_scenario(strategy, devices);
      scenario.dtype = DType::kFloat64;
      const RunReport report = run_quietly(scenario);
      ASSERT_EQ(report.step_losses.size(), 40U);
      for (std::size_t step = 0; step < 40; ++step) {
        EXPECT_NEAR(report.step_losses[step], single.step_losses[step], 1e-9)
            << strategy << ' ' << devices << " step " << step;
      }
      EXPECT_EQ(
          std::set<std::string>(report.rank_checksums.begin(), report.rank_checksums.end()).size(),
          1U);
      EXPECT_NEAR(report.epochs.front().test_accuracy, single.epochs.front().test_accuracy, 1e-12);
    }
  }
}

TEST(ScenarioRun, DataParallelIsExactForUnequalSplits) {
  Scenario scenario = small_scenario("single", 1);
  scenario.dtype = DType::kFloat64;
  scenario.batch_size = 46;
  scenario.steps = 10;
  const RunReport single = run_quietly(scenario);
  scenario.strategy = "dp";
  scenario.devices = 4;
  const RunReport dp = run_quietly(scenario);  // 12, 12, 12, 10
  for (std::size_t step = 0; step < 10; ++step) {
    EXPECT_NEAR(dp.step_losses[step], single.step_losses[step], 1e-11);
  }
}

// The rows that are evaluated are others in number: the chunk sizes do not apply to them.
TEST(ScenarioRun, ChunkSizesAreThoseOfATrainingBatch) {
  Scenario scenario = small_scenario("single", 1);
  scenario.dtype = DType::kFloat64;
  scenario.steps = 3;
  const RunReport single = run_quietly(scenario);
  scenario.strategy = "dp";
  scenario.devices = 3;
  scenario.chunk_sizes = {30, 17, 1};
  const RunReport dp = run_quietly(scenario);
  for (std::size_t step = 0; step < 3; ++step) {
    EXPECT_NEAR(dp.step_losses[step], single.step_losses[step], 1e-11);
  }
  EXPECT_DOUBLE_EQ(dp.epochs.back().test_accuracy, single.epochs.back().test_accuracy);
}

TEST(ScenarioRun, WithOneDeviceIdTheOutputStaysThere) {
  Scenario scenario = small_scenario("dp", 2);
  scenario.steps = 1;
  scenario.device_ids = {0};
  scenario.output_device = 1;
  Trace trace;
  run_scenario(scenario, {}, &trace, {});
  EXPECT_EQ(trace.run.output_device, 0);

  scenario.device_ids = {0, 1};
  run_scenario(scenario, {}, &trace, {});
  EXPECT_EQ(trace.run.output_device, 1);
}

TEST(ScenarioRun, TheDirectionOfRingsIsThatOfTheScenario) {
  for (const std::string strategy : {"dp", "ddp"}) {
    Scenario scenario = small_scenario(strategy, 3);
    scenario.backend = "meta";
    scenario.steps = 1;
    scenario.algorithm = Algorithm::kRing;
    scenario.direction = Direction::kDown;
    Trace trace;
    run_scenario(scenario, {}, &trace, {});
    int rings = 0;
    for (const TraceOp& op : trace.ops) {
      if (!op.collective || op.collective->request.algorithm != Algorithm::kRing) continue;
      EXPECT_EQ(to_string(op.collective->request.direction), "down") << strategy << ' ' << op.name;
      ++rings;
    }
    EXPECT_GT(rings, 0) << strategy;
  }
}

TEST(ScenarioRun, LoaderWorkersChangeNothing) {
  Scenario scenario = small_scenario("ddp", 2);
  scenario.steps = 8;
  const std::string expected = run_quietly(scenario).checksum;
  scenario.loader_workers = 3;
  EXPECT_EQ(run_quietly(scenario).checksum, expected);
  scenario.pin_memory = true;
  scenario.non_blocking = true;
  EXPECT_EQ(run_quietly(scenario).checksum, expected);
  scenario.stepwise = true;
  EXPECT_EQ(run_quietly(scenario).checksum, expected);
  scenario.sim_workers = 5;
  EXPECT_EQ(run_quietly(scenario).checksum, expected);
}

TEST(ScenarioRun, AThousandRunsWithRandomDelaysGiveOneChecksum) {
  const std::uint64_t runs = test::selects_pairwise() ? 100 : 1000;  // few under the sanitizers
  std::set<std::vector<double>> outcomes;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    WorldOptions options;
    options.size = 3;
    options.random_delay_us = 20;
    options.delay_seed = seed;
    options.workers = 1 + static_cast<int>(seed % 3);
    const auto world = open_world("sim", options);
    std::vector<std::vector<double>> weights(3);
    world->run([&](Rank& rank) {
      Generator generator(1);
      DdpOptions ddp_options;
      ddp_options.loss = [](const Tensor& output, const Tensor& targets) {
        return cross_entropy(output, targets);
      };
      ddp_options.optimizer = toy_sgd(0.1);
      ddp_options.first_bucket_bytes = 1;
      ddp_options.bucket_cap_bytes = 1;
      const auto ddp =
          make_ddp(make_model("mlp:3,4,2", {rank.device, DType::kFloat32, generator}, Shape{3}, 2),
                   rank, ddp_options);
      for (int step = 0; step < 3; ++step) {
        const std::vector<double> x{0.1 * rank.rank, 0.7, -0.3, 0.2, 0.3 * step, 0.9};
        ddp->train_step(
            {Tensor::from_host(rank.device, Shape{2, 3}, DType::kFloat32, x, MemoryKind::kInputs),
             Tensor::from_host(rank.device, Shape{2}, DType::kInt64, std::vector<double>{0, 1},
                               MemoryKind::kInputs)},
            step);
      }
      for (const NamedTensor& entry : ddp->state_dict()) {
        for (const double value : host_values(entry.tensor)) {
          weights[static_cast<std::size_t>(rank.rank)].push_back(value);
        }
      }
    });
    for (const auto& rank_weights : weights) outcomes.insert(rank_weights);
    ASSERT_EQ(outcomes.size(), 1U) << "seed " << seed;
  }
}

std::string error_of(const Scenario& scenario, ErrorKind kind) {
  try {
    run_quietly(scenario);
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    return error.what();
  }
  return "no error";
}

ScenarioEvent event_of(ScenarioEvent::Kind kind, int rank, int step) {
  ScenarioEvent event;
  event.kind = kind;
  event.rank = rank;
  event.step = step;
  return event;
}

TEST(ScenarioRun, ARankThatStopsIsADeadlockWithNames) {
  Scenario scenario = small_scenario("ddp", 3);
  scenario.events = {event_of(ScenarioEvent::Kind::kStop, 2, 5)};
  const std::string message = error_of(scenario, ErrorKind::kDeadlock);
  EXPECT_NE(message.find("all-reduce"), std::string::npos) << message;
  EXPECT_NE(message.find("rank 2"), std::string::npos) << message;
}

// Nobody waits for anybody: the run ends, but is none.
TEST(ScenarioRun, RanksThatAllStopAreAnErrorWithTheirStep) {
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

TEST(ScenarioRun, ARankThatStopsIsNamedWithItsStep) {
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

TEST(ScenarioRun, AnotherCollectiveThanTheOthersIsAMismatch) {
  Scenario scenario = small_scenario("ddp", 3);
  ScenarioEvent event = event_of(ScenarioEvent::Kind::kOtherCollective, 1, 4);
  event.operation = Operation::kBroadcast;
  scenario.events = {event};
  const std::string message = error_of(scenario, ErrorKind::kCommMismatch);
  EXPECT_NE(message.find("broadcast"), std::string::npos) << message;
  EXPECT_NE(message.find("all-reduce"), std::string::npos) << message;
}

TEST(ScenarioRun, APerturbedWeightMakesTheRanksDriftApart) {
  Scenario scenario = small_scenario("ddp", 2);
  ScenarioEvent event = event_of(ScenarioEvent::Kind::kPerturb, 1, 2);
  event.parameter = "0.weight";
  event.amount = 1;
  scenario.events = {event};
  const RunReport report = run_quietly(scenario);
  EXPECT_NE(report.rank_checksums[0], report.rank_checksums[1]);
}

TEST(ScenarioRun, AFrozenParameterIsAnUnusedOne) {
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
TEST(ScenarioRun, AnUnusedHeadIsReportedByDdpInTheNextForward) {
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
TEST(ScenarioRun, AnUnusedHeadInTheLastStepIsSilent) {
  Scenario scenario = two_heads("ddp", 2);
  scenario.steps = 1;
  scenario.events = {event_of(ScenarioEvent::Kind::kUnusedHead, 0, 0),
                     event_of(ScenarioEvent::Kind::kUnusedHead, 1, 0)};
  const RunReport report = run_quietly(scenario);
  EXPECT_NE(report.rank_checksums[0], report.rank_checksums[1]);
}

TEST(ScenarioRun, AModelWithTwoHeadsTrainsAlikeUnderEveryStrategy) {
  const RunReport single = run_quietly(two_heads("single", 1));
  for (const std::string strategy : {"dp", "ddp"}) {
    const RunReport report = run_quietly(two_heads(strategy, 3));
    for (std::size_t step = 0; step < 4; ++step) {
      EXPECT_NEAR(report.step_losses[step], single.step_losses[step], 1e-5) << strategy;
    }
  }
}

// dp.module(x): the step is that of one device.
TEST(ScenarioRun, ABypassedDataParallelComputesAtHomeAlone) {
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

TEST(ScenarioRun, ASlowRankChangesNoNumber) {
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
TEST(ScenarioRun, FewerBatchesOnOneRankAreAMismatch) {
  Scenario scenario = small_scenario("ddp", 3);
  scenario.steps.reset();
  scenario.epochs = 1;
  ScenarioEvent event = event_of(ScenarioEvent::Kind::kFewerBatches, 1, 0);
  event.amount = 2;
  scenario.events = {event};
  const std::string message = error_of(scenario, ErrorKind::kCommMismatch);
  EXPECT_NE(message.find("rank 1 called"), std::string::npos) << message;
}

TEST(ScenarioRun, NoSyncAccumulatesAndBypassingDrifts) {
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

TEST(ScenarioRun, AnExtraForwardSynchronisesTheBuffersOnceMore) {
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
TEST(ScenarioRun, AReplacedParameterIsAnUnusedOne) {
  Scenario scenario = small_scenario("ddp", 2);
  ScenarioEvent event = event_of(ScenarioEvent::Kind::kReplace, 0, 1);
  event.parameter = "2.weight";
  scenario.events = on_all_ranks(event, 2);
  const std::string message = error_of(scenario, ErrorKind::kTrainingFailed);
  EXPECT_NE(message.find("did not receive grad for rank 0: 2 (2.weight)"), std::string::npos)
      << message;
}

// Before anything is trained.
TEST(ScenarioRun, AnEventThatCannotHappenIsAnError) {
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

TEST(ScenarioRun, TooLittleMemoryIsSaidWithNumbers) {
  Scenario scenario = small_scenario("dp", 2);
  scenario.memory = 20000;
  const std::string message = error_of(scenario, ErrorKind::kOutOfMemory);
  EXPECT_NE(message.find("20.0 kB"), std::string::npos) << message;
}

TEST(ScenarioRun, ADivergingLossIsAnError) {
  Scenario scenario = small_scenario("single", 1);
  scenario.lr = 1e9;
  scenario.weight_decay = 1;  // each step multiplies the weights by a billion
  const std::string message = error_of(scenario, ErrorKind::kNotFinite);
  EXPECT_NE(message.find("diverged"), std::string::npos) << message;
}

/// What an op is, without its values and times.
std::string shape_of(const TraceOp& op) {
  std::string text = std::string(to_string(op.kind)) + ' ' + op.name + ' ' + op.label + ' ' +
                     std::string(to_string(op.phase)) + " rank " + std::to_string(op.rank) +
                     " bucket " + std::to_string(op.bucket) + ' ' + std::to_string(op.bytes) + ' ' +
                     std::to_string(op.flops);
  for (const TraceTensor& tensor : op.reads) text += ' ' + to_string(tensor.shape);
  for (const TraceTensor& tensor : op.writes) text += ' ' + to_string(tensor.shape);
  return text;
}

/// Without the first values of the weights, which meta does not draw.
std::vector<TraceOp> ops_of_steps(const Trace& trace) {
  std::vector<TraceOp> ops = trace.ops;
  std::erase_if(ops, [](const TraceOp& op) { return op.step < 0; });
  return ops;
}

TEST(ScenarioRun, MetaRecordsWhatSimRecords) {
  for (const std::string strategy : {"single", "dp", "ddp", "ps"}) {
    Scenario scenario = small_scenario(strategy, 2);
    scenario.workers = 1;
    scenario.steps = 3;
    Trace sim;
    run_scenario(scenario, {}, &sim, {});
    scenario.backend = "meta";
    Trace meta;
    const RunReport report = run_scenario(scenario, {}, &meta, {});
    EXPECT_EQ(report.steps, 3);
    const std::vector<TraceOp> simulated = ops_of_steps(sim);
    const std::vector<TraceOp> recorded = ops_of_steps(meta);
    ASSERT_FALSE(simulated.empty());
    ASSERT_EQ(recorded.size(), simulated.size()) << strategy;
    for (std::size_t i = 0; i < simulated.size(); ++i) {
      ASSERT_EQ(shape_of(recorded[i]), shape_of(simulated[i])) << strategy << " op " << i;
    }
    EXPECT_EQ(meta.memory, sim.memory) << strategy;
  }
}

}  // namespace
}  // namespace ringside::test
