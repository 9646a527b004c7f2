// Training resumed from a checkpoint is bit for bit the training that was never stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "data/temporary_folder.h"
#include "parallel/short_training.h"
#include "parallel/text_file.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"
#include "ringside/scenario.h"
#include "support/error_text.h"

namespace ringside::test {
namespace {

struct Case {
  std::string name;
  Scenario scenario;
  int stop = 0;  ///< steps before the checkpoint
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const std::string& name, const Scenario& scenario, int stop) {
    all.push_back({name, scenario, stop});
  };
  for (const auto& [strategy, devices] :
       std::vector<std::pair<std::string, int>>{{"single", 1}, {"dp", 3}, {"ddp", 3}}) {
    Scenario scenario = small_scenario(strategy, devices);
    scenario.momentum = 0.9;
    for (const int stop : {1, 2, 5, 6, 12}) {
      add(strategy + " momentum, after step " + std::to_string(stop), scenario, stop);
    }
    scenario.momentum = 0;
    scenario.optimizer = "adam";
    scenario.lr = 0.01;
    scenario.shuffle = false;
    add(strategy + " adam, no shuffle", scenario, 4);
    scenario.optimizer = "adamw";
    scenario.weight_decay = 0.1;
    scenario.clip_grad_norm = 0.5;
    scenario.dtype = DType::kFloat64;
    scenario.model = "mlp:64,16,10:bn";
    add(strategy + " adamw, float64, BatchNorm, clipping", scenario, 7);
  }
  Scenario server = small_scenario("ps", 6);
  server.variant = "a";
  server.workers = 2;
  server.worker_devices = 2;
  server.servers = 2;
  server.optimizer = "adam";
  server.lr = 0.01;
  for (const int stop : {1, 5, 9}) add("ps, after " + std::to_string(stop), server, stop);
  server.variant = "b";
  server.optimizer = "sgd";
  server.lr = 0.1;
  for (const int stop : {1, 5, 9}) {
    add("ps whose servers update, after " + std::to_string(stop), server, stop);
  }
  server.servers = 3;  // whose borders cut parameters
  server.devices = 7;
  server.momentum = 0.9;
  add("ps whose servers have momentum", server, 3);
  server.server_devices = 2;
  server.devices = 10;
  server.momentum = 0;
  server.optimizer = "adamw";
  server.lr = 0.01;
  add("ps whose servers have adamw and two devices", server, 5);
  server.server_devices = 1;
  server.devices = 7;
  server.asynchronous = true;
  server.steps = 12;
  for (const int stop : {4, 8}) {  // epochs have 4 steps
    add("asynchronous ps, after " + std::to_string(stop), server, stop);
  }
  Scenario buckets = small_scenario("ddp", 4);
  buckets.model = "mlp:64,32,24,16,10";
  buckets.first_bucket_mb = 0.001;
  buckets.bucket_cap_mb = 0.004;
  buckets.momentum = 0.5;
  for (const int stop : {1, 2, 9}) add("buckets, after " + std::to_string(stop), buckets, stop);
  Scenario still = buckets;
  still.static_graph = true;
  for (const int stop : {2, 3}) add("static graph, after " + std::to_string(stop), still, stop);
  Scenario searching = buckets;
  searching.find_unused_parameters = true;
  for (const int stop : {1, 4}) add("find unused, after " + std::to_string(stop), searching, stop);
  Scenario zeroed = buckets;  // every parameter is used, and overwrites the zeros
  zeroed.set_to_none = false;
  zeroed.gradient_as_bucket_view = true;
  for (const int stop : {1, 4}) add("zeroed views, after " + std::to_string(stop), zeroed, stop);
  zeroed.find_unused_parameters = true;
  add("zeroed views, find unused", zeroed, 3);
  Scenario accumulating = buckets;
  accumulating.accumulate = 2;
  accumulating.comm_hook = "fp16";
  accumulating.steps = 6;
  for (const int stop : {1, 3})
    add("accumulating, after " + std::to_string(stop), accumulating, stop);
  // Rank 0 takes 3 of an epoch's 6 batches.
  Scenario joined = small_scenario("ddp", 3);
  joined.model = "mlp:64,16,10:bn";
  joined.events = {{ScenarioEvent::Kind::kFewerBatches, 0, 0, "", 3}};
  for (const std::string join : {"initial", "active"}) {
    joined.join = join;
    for (const int stop : {4, 5, 6, 8, 10}) {
      add("join " + join + ", after " + std::to_string(stop), joined, stop);
    }
  }
  // Every rank leaves out the last of an epoch's 6.
  Scenario shorter = small_scenario("ddp", 3);
  shorter.momentum = 0.9;
  for (const int rank : {0, 1, 2}) {
    shorter.events.push_back({ScenarioEvent::Kind::kFewerBatches, rank, 0, "", 1});
  }
  for (const int stop : {6, 9, 10}) add("shorter, after " + std::to_string(stop), shorter, stop);
  return all;
}

TEST(Resume, IsBitForBitTheTrainingThatWasNeverStopped) {
  const TemporaryFolder folder;
  for (Case& each : cases()) {
    SCOPED_TRACE(each.name);
    Scenario& scenario = each.scenario;
    const RunReport whole = run_quietly(scenario);
    const int steps = *scenario.steps;

    scenario.steps = each.stop;
    scenario.save = folder.file("a.safetensors");
    const RunReport before = run_quietly(scenario);
    EXPECT_NE(before.checksum, whole.checksum);

    scenario.steps = steps;
    scenario.save.clear();
    scenario.resume = folder.file("a.safetensors");
    const RunReport after = run_quietly(scenario);
    EXPECT_EQ(after.checksum, whole.checksum);
    EXPECT_EQ(after.rank_checksums, whole.rank_checksums);
    EXPECT_EQ(after.steps, steps);
    EXPECT_EQ(after.first_step, each.stop);
    EXPECT_EQ(after.step_losses,
              std::vector<double>(whole.step_losses.begin() + each.stop, whole.step_losses.end()));
    EXPECT_EQ(after.epochs.back().test_loss, whole.epochs.back().test_loss);
  }
}

// Random numbers of dropout, tokens, and a checkpoint taken while the training goes on.
TEST(Resume, DropoutGoesOnWithItsNumbers) {
  const TemporaryFolder folder;
  const TextFile text(4000);
  for (const std::string strategy : {"single", "dp", "ddp"}) {
    SCOPED_TRACE(strategy);
    Scenario scenario = small_scenario(strategy, strategy == "single" ? 1 : 2);
    scenario.model = "gpt:layers=1,heads=2,width=16,context=16,dropout=0.3";
    scenario.data = text.spec();
    scenario.optimizer = "adam";
    scenario.lr = 0.003;
    scenario.steps = 9;
    scenario.save = folder.file("t-{step}.safetensors");
    scenario.save_every = 4;
    const RunReport whole = run_quietly(scenario);
    EXPECT_EQ(whole.saved, (std::vector<std::string>{folder.file("t-4.safetensors"),
                                                     folder.file("t-8.safetensors"),
                                                     folder.file("t-9.safetensors")}));
    scenario.save.clear();
    scenario.save_every = 0;
    scenario.resume = folder.file("t-4.safetensors");
    EXPECT_EQ(run_quietly(scenario).checksum, whole.checksum);
    scenario.resume = folder.file("t-8.safetensors");
    EXPECT_EQ(run_quietly(scenario).checksum, whole.checksum);
  }
}

// Rank 0 has 3 of an epoch's 6 batches: what it saves after step 2 are its own buffers, where the
// others go on with rank 2's, and its momentum is that of fewer updates.
TEST(Resume, InsideJoinWhatTheFileHasNotIsTold) {
  const TemporaryFolder folder;
  Scenario scenario = small_scenario("ddp", 3);
  scenario.model = "mlp:64,16,10:bn";
  scenario.momentum = 0.9;
  scenario.join = "initial";
  scenario.events = {{ScenarioEvent::Kind::kFewerBatches, 0, 0, "", 3}};
  scenario.steps = 6;
  scenario.save = folder.file("{step}.safetensors");
  scenario.save_every = 2;
  const std::vector<std::string> warnings = run_quietly(scenario).warnings;
  ASSERT_EQ(warnings.size(), 2U);
  expect_has(warnings[0], "the checkpoint after step 2 has the buffers of rank 0");
  expect_has(warnings[1], "the checkpoint after step 6 has the optimizer's state of rank 0");
}

// Three runs one after the other, from and to the same file.
TEST(Resume, MayBeRepeated) {
  const TemporaryFolder folder;
  Scenario scenario = small_scenario("ddp", 3);
  scenario.momentum = 0.9;
  const std::string whole = run_quietly(scenario).checksum;
  scenario.save = folder.file("a.safetensors");
  scenario.steps = 3;
  run_quietly(scenario);
  scenario.resume = scenario.save;
  scenario.steps = 8;
  run_quietly(scenario);
  scenario.steps = 13;
  EXPECT_EQ(run_quietly(scenario).checksum, whole);
}

// What changes no number may be another: workers, how collectives run.
TEST(Resume, WhereItComputesMayChange) {
  const TemporaryFolder folder;
  Scenario scenario = small_scenario("ddp", 2);
  const std::string whole = run_quietly(scenario).checksum;
  scenario.save = folder.file("a.safetensors");
  scenario.steps = 3;
  run_quietly(scenario);
  scenario.save.clear();
  scenario.resume = folder.file("a.safetensors");
  scenario.steps = 13;
  scenario.stepwise = true;
  scenario.loader_workers = 2;
  scenario.sim_workers = 3;
  EXPECT_EQ(run_quietly(scenario).checksum, whole);
}

// What an event did before the checkpoint lasts.
TEST(Resume, FrozenAndReplacedParametersStayThat) {
  const TemporaryFolder folder;
  for (const auto kind : {ScenarioEvent::Kind::kFreeze, ScenarioEvent::Kind::kReplace}) {
    SCOPED_TRACE(to_string(kind));
    Scenario scenario = small_scenario("single", 1);
    scenario.momentum = 0.9;
    scenario.events = {{kind, 0, 2, "0.bias"}};
    const std::string whole = run_quietly(scenario).checksum;
    scenario.save = folder.file("a.safetensors");
    scenario.steps = 5;
    run_quietly(scenario);
    scenario.save.clear();
    scenario.resume = folder.file("a.safetensors");
    scenario.steps = 13;
    EXPECT_EQ(run_quietly(scenario).checksum, whole);
  }
}

}  // namespace
}  // namespace ringside::test
