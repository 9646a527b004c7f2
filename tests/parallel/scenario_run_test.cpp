// Whole runs: the strategies agree, results do not depend on timing, failures are told, meta
// records what sim records. What events do is in scenario_events_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "parallel/small_run.h"
#include "support/selection.h"
#include "toy.h"

namespace ringside::test {
namespace {

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
