// --verify leaves training without a fault alone, whatever the scenario, and says what it compared.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "data/temporary_folder.h"
#include "ringside/error.h"
#include "ringside/scenario.h"
#include "support/error_text.h"

namespace ringside::test {
namespace {

using Kind = ScenarioEvent::Kind;

RunReport run(const Scenario& scenario) { return run_scenario(scenario, {}, nullptr, {}); }

Scenario verified(const std::string& strategy, int devices) {
  Scenario scenario;
  scenario.strategy = strategy;
  scenario.devices = devices;
  scenario.model = "mlp:64,16,10:tanh";
  scenario.data = "random:150:64:10";
  scenario.batch_size = strategy == "ddp" || strategy == "ps" ? 8 : 26;
  scenario.momentum = 0.9;
  scenario.steps = 7;
  scenario.verify = true;
  scenario.verify_step = 6;
  return scenario;
}

Scenario parameter_server(const std::string& variant) {
  Scenario scenario = verified("ps", 6);
  scenario.variant = variant;
  scenario.workers = 2;
  scenario.worker_devices = 2;
  scenario.servers = 2;
  return scenario;
}

using Cases = std::vector<std::pair<std::string, Scenario>>;

Cases strategies() {
  return {{"single", verified("single", 1)},
          {"dp", verified("dp", 4)},
          {"ddp", verified("ddp", 4)},
          {"ps, workers update", parameter_server("a")},
          {"ps, servers update", parameter_server("b")}};
}

void expect_verified(const Scenario& scenario, int step) {
  const RunReport report = run(scenario);
  ASSERT_TRUE(report.verification.has_value());
  const Verification& verification = *report.verification;
  EXPECT_EQ(verification.steps, report.steps - report.first_step);
  EXPECT_EQ(verification.ranks, scenario.replicas());
  EXPECT_EQ(verification.single_step, step);
  EXPECT_EQ(verification.not_compared, "");
  const double rounding = scenario.dtype == DType::kFloat64 ? 1e-12 : 1e-5;
  EXPECT_LT(verification.largest_difference, scenario.comm_hook == "none" ? rounding : 0.1);
}

TEST(Verification, FindsNothingWhereThereIsNothing) {
  for (auto& [name, scenario] : strategies()) {
    SCOPED_TRACE(name);
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      scenario.dtype = dtype;
      expect_verified(scenario, 6);
    }
    scenario.momentum = 0;
    scenario.optimizer = "adam";
    scenario.lr = 0.01;
    expect_verified(scenario, 6);
  }
}

TEST(Verification, ComparesTheFirstStepUnlessAskedForAnother) {
  Scenario scenario = verified("dp", 3);
  scenario.verify_step.reset();
  expect_verified(scenario, 0);
}

TEST(Verification, FindsNothingInTheCornersOfDistributedDataParallel) {
  Cases cases;
  const auto add = [&](const std::string& name) -> Scenario& {
    cases.emplace_back(name, verified("ddp", 3));
    return cases.back().second;
  };
  for (const bool no_sync : {true, false}) {
    Scenario& accumulating = add(no_sync ? "accumulate" : "accumulate without no_sync");
    accumulating.accumulate = 3;
    accumulating.batch_size = 7;  // each rank's 42 rows in equal batches
    accumulating.no_sync = no_sync;
  }
  add("seed-per-rank").seed_per_rank = true;
  add("frozen").frozen = "0.weight,2.bias";
  add("find-unused").find_unused_parameters = true;
  add("static-graph").static_graph = true;
  add("bucket views").gradient_as_bucket_view = true;
  add("zeroed").set_to_none = false;
  add("clipped").clip_grad_norm = 0.1;
  for (const std::string hook : {"allreduce", "fp16", "bf16"}) {
    Scenario& hooked = add(hook);
    hooked.comm_hook = hook;
    hooked.verify_step = 0;
  }
  Scenario& batch_norm = add("sync-batchnorm");
  batch_norm.model = "mlp:64,16,10:bn";
  batch_norm.sync_batchnorm = true;
  for (const auto& [name, scenario] : cases) {
    SCOPED_TRACE(name);
    expect_verified(scenario, *scenario.verify_step);
  }
}

TEST(Verification, WorksWhereRanksFinishEarly) {
  Scenario scenario = verified("ddp", 3);
  scenario.join = "active";
  scenario.momentum = 0;  // which would stay behind on a rank that has finished
  scenario.steps = 11;    // of two epochs with 6 batches each
  scenario.events = {{Kind::kFewerBatches, 1, 0, "", 2}, {Kind::kFewerBatches, 2, 0, "", 1}};
  for (const int step : {0, 3, 4, 5, 10}) {
    scenario.verify_step = step;
    expect_verified(scenario, step);
  }
  scenario.events = {{Kind::kFewerBatches, 0, 0, "", 2}};
  scenario.verify_step = 3;
  expect_verified(scenario, 3);
  scenario.verify_step = 4;
  EXPECT_EQ(error_text(ErrorKind::kInvalidArgument, [&] { run(scenario); }),
            "verify-step 4: rank 0, whose parameters are compared with those of a single device, "
            "has no batch then");
}

TEST(Verification, NamesTheDivisorThatCountsRanksWithoutBatches) {
  Scenario scenario = verified("ddp", 3);
  scenario.join = "initial";
  scenario.momentum = 0;
  scenario.events = {{Kind::kFewerBatches, 1, 0, "", 2}};
  scenario.verify_step = 3;
  expect_verified(scenario, 3);
  scenario.verify_step = 4;
  EXPECT_NE(
      error_text(ErrorKind::kTrainingFailed, [&] { run(scenario); })
          .find("verify: after step 4 the gradient of 0.weight is not that of a single device"),
      std::string::npos);
}

TEST(Verification, GoesOnFromACheckpoint) {
  const TemporaryFolder folder;
  for (auto& entry : strategies()) {
    Scenario& scenario = entry.second;
    SCOPED_TRACE(entry.first);
    scenario.verify = false;
    scenario.verify_step.reset();
    scenario.steps = 3;
    scenario.save = folder.file("m.safetensors");
    run(scenario);
    scenario.save.clear();
    scenario.steps = 7;
    scenario.verify = true;
    Scenario loaded = scenario;
    loaded.load = folder.file("m.safetensors");
    expect_verified(loaded, 0);
    scenario.resume = folder.file("m.safetensors");
    expect_verified(scenario, 3);
    scenario.verify_step = 6;
    expect_verified(scenario, 6);
    scenario.verify_step = 2;
    EXPECT_NE(
        error_text(ErrorKind::kInvalidArgument, [&] { run(scenario); })
            .find("verify-step 2 and resume: " + scenario.resume + " was taken after 3 steps"),
        std::string::npos);
  }
}

TEST(Verification, ChangesNothing) {
  for (auto& [name, scenario] : strategies()) {
    SCOPED_TRACE(name);
    const RunReport checked = run(scenario);
    scenario.verify = false;
    scenario.verify_step.reset();
    const RunReport report = run(scenario);
    EXPECT_EQ(report.checksum, checked.checksum);
    EXPECT_EQ(report.step_losses, checked.step_losses);
    EXPECT_FALSE(report.verification.has_value());
  }
}

TEST(Verification, SaysWhyASingleDeviceIsNotCompared) {
  for (const std::string strategy : {"dp", "ddp"}) {
    Scenario scenario = verified(strategy, 2);
    scenario.model = "mlp:64,16,10:bn";
    scenario.verify_step.reset();
    const RunReport report = run(scenario);
    EXPECT_EQ(report.verification->single_step, -1);
    EXPECT_EQ(report.verification->not_compared,
              "the statistics of batch normalisation are of one part of the rows");
    scenario.verify_step = 0;
    EXPECT_NE(error_text(ErrorKind::kTrainingFailed, [&] { run(scenario); })
                  .find("is not that of a single device"),
              std::string::npos);
  }
  Scenario alone = verified("single", 1);
  alone.model = "mlp:64,16,10:bn";
  expect_verified(alone, 6);
}

TEST(Verification, SeesThatAModelDraws) {
  const TemporaryFolder folder;
  folder.write("text.txt", std::string(4000, 'a') + "bcd");
  Scenario scenario = verified("ddp", 2);
  scenario.data = "text:" + folder.file("text.txt");
  scenario.model = "gpt:layers=1,heads=2,width=8,context=8";
  scenario.batch_size = 4;
  scenario.verify_step.reset();
  scenario.steps = 2;
  expect_verified(scenario, 0);
  scenario.model += ",dropout=0.1";
  EXPECT_EQ(run(scenario).verification->not_compared, "dropout draws other numbers on each device");
}

TEST(Verification, RefusesWhatCannotBeCompared) {
  const auto refusal = [](const Scenario& scenario) {
    return error_text(ErrorKind::kInvalidArgument, [&] { run(scenario); });
  };
  Scenario scenario = verified("ddp", 2);
  scenario.backend = "meta";
  EXPECT_EQ(refusal(scenario), "verify with backend meta: it has no values that could be compared");
  scenario = verified("ps", 4);
  scenario.asynchronous = true;
  EXPECT_EQ(refusal(scenario),
            "verify with async: its workers may differ, each has other pushes in its weights");
  scenario = verified("ddp", 2);
  scenario.verify_step = 7;
  EXPECT_EQ(refusal(scenario), "verify-step 7: the run has 7 steps, counted from 0");
  scenario.verify_step = -1;
  EXPECT_EQ(refusal(scenario).substr(0, 15), "verify-step -1:");
  scenario.verify_step = 0;
  scenario.verify = false;
  EXPECT_EQ(refusal(scenario), "verify-step 0: nothing is verified");
}

}  // namespace
}  // namespace ringside::test
