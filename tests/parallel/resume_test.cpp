// Training resumed from a checkpoint is bit for bit the training that was never stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "data/temporary_folder.h"
#include "parallel/text_file.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"
#include "ringside/scenario.h"
#include "support/error_text.h"

namespace ringside::test {
namespace {

RunReport run_quietly(const Scenario& scenario) { return run_scenario(scenario, {}, nullptr, {}); }

struct Case {
  std::string name;
  Scenario scenario;
  int stop = 0;  ///< steps before the checkpoint
};

Scenario small_scenario(const std::string& strategy, int devices) {
  Scenario scenario;
  scenario.strategy = strategy;
  scenario.devices = devices;
  scenario.model = "mlp:64,16,10";
  scenario.data = "random:150:64:10";  // 125 to train on: epochs end with a smaller batch
  scenario.batch_size = strategy == "ddp" || strategy == "ps" ? 8 : 26;
  scenario.steps = 13;
  scenario.seed = 5;
  return scenario;
}

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

class Checkpoints : public testing::Test {
 protected:
  /// A checkpoint of three steps with momentum.
  std::string taken(bool wrapped = false) const {
    Scenario scenario = this->scenario();
    scenario.steps = 3;
    scenario.save_wrapped = wrapped;
    scenario.save = folder_.file(wrapped ? "wrapped.safetensors" : "plain.safetensors");
    run_quietly(scenario);
    return scenario.save;
  }
  static Scenario scenario() {
    Scenario scenario = small_scenario("ddp", 2);
    scenario.momentum = 0.9;
    return scenario;
  }
  static Error error_of(const Scenario& scenario) {
    try {
      run_quietly(scenario);
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorKind::kDevice, "no error was thrown");
  }
  static std::vector<std::string> names_of(const std::string& path) {
    std::vector<std::string> names;
    for (const SafetensorsEntry& entry : read_safetensors_header(path).entries) {
      names.push_back(entry.name);
    }
    return names;
  }

  const TemporaryFolder folder_;
};

TEST_F(Checkpoints, HaveTheNamesOfTheStateDict) {
  const std::vector<std::string> state = {"0.weight", "0.bias", "2.weight", "2.bias"};
  std::vector<std::string> expected = state;
  for (const std::string& name : state) {
    expected.push_back("optimizer." + name + ".momentum_buffer");
  }
  EXPECT_EQ(names_of(taken()), expected);
  for (std::size_t i = 0; i < state.size(); ++i) expected[i] = "module." + state[i];
  EXPECT_EQ(names_of(taken(true)), expected);
  const SafetensorsHeader header = read_safetensors_header(folder_.file("plain.safetensors"));
  EXPECT_EQ(header.entries[0].shape, (std::vector<std::int64_t>{16, 64}));
  EXPECT_EQ(header.entries[0].dtype, "F32");
}

TEST_F(Checkpoints, LoadingTakesTheValuesAndNothingElse) {
  Scenario scenario = this->scenario();
  scenario.load = taken();
  scenario.steps = 2;
  scenario.lr = 0;
  scenario.save = folder_.file("again.safetensors");
  run_quietly(scenario);
  const SafetensorsFile before = read_safetensors(scenario.load);
  const SafetensorsFile after = read_safetensors(scenario.save);
  for (const char* name : {"0.weight", "0.bias", "2.weight", "2.bias"}) {
    const auto a = before.bytes_of(*before.header.find(name));
    const auto b = after.bytes_of(*after.header.find(name));
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << name;
  }
  EXPECT_EQ(after.header.metadata.at("ringside.step"), "2");
}

TEST_F(Checkpoints, OfferThePrefixAndTakeItIfAsked) {
  Scenario scenario = this->scenario();
  scenario.load = taken(true);
  Error error = error_of(scenario);
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
  EXPECT_EQ(error.what(),
            scenario.load +
                ": does not fit the model: Missing key(s) in state_dict: 0.weight, 0.bias, "
                "2.weight, 2.bias; Unexpected key(s) in state_dict: module.0.weight, "
                "module.0.bias, module.2.weight, module.2.bias");
  EXPECT_EQ(
      error.hint(),
      "with 'module.*' renamed to '*' 4 of 4 expected keys match: add --strip-prefix module.");
  const std::string whole = [&] {
    Scenario plain = this->scenario();
    plain.load = taken();
    return run_quietly(plain).checksum;
  }();
  scenario.strip_prefix = "module.";
  EXPECT_EQ(run_quietly(scenario).checksum, whole);
  scenario.load = folder_.file("plain.safetensors");
  scenario.strip_prefix = "";
  scenario.rename_prefix = "0.=1.";
  EXPECT_NE(
      std::string(error_of(scenario).what()).find("Unexpected key(s) in state_dict: 1.weight"),
      std::string::npos);
}

TEST_F(Checkpoints, OfAnotherModelSayWhatDiffers) {
  Scenario scenario = this->scenario();
  scenario.load = taken();
  scenario.model = "mlp:64,12,10";
  EXPECT_EQ(std::string(error_of(scenario).what()),
            scenario.load +
                ": does not fit the model: size mismatch for 0.weight: 12x64 expected, 16x64 "
                "given, 0.bias: 12 expected, 16 given, 2.weight: 10x12 expected, 10x16 given");
}

TEST_F(Checkpoints, OfAnotherTrainingAreNotResumed) {
  Scenario scenario = this->scenario();
  scenario.resume = taken();
  scenario.lr = 0.5;
  scenario.devices = 3;
  scenario.events = {{ScenarioEvent::Kind::kSlow, 0, 5, "", 1}};
  const Error error = error_of(scenario);
  EXPECT_EQ(std::string(error.what()),
            scenario.resume +
                ": is of another training: devices was 2, is 3; lr was 0.1, is 0.5; events was not "
                "given, is slow 0 5 '' 1 broadcast");
  EXPECT_NE(error.hint().find("--load"), std::string::npos);
}

TEST_F(Checkpoints, AtTheEndOfTheRunHaveNothingToGoOnWith) {
  Scenario scenario = this->scenario();
  scenario.resume = taken();
  scenario.steps = 3;
  EXPECT_EQ(
      std::string(error_of(scenario).what()),
      scenario.resume + ": was taken after 3 steps, and the run has 3: nothing is left to do");
}

TEST_F(Checkpoints, WithoutATrainingsStateAreOnlyLoaded) {
  SafetensorsFile file = read_safetensors(taken());
  file.header.metadata = {{"format", "pt"}};
  std::erase_if(file.header.entries,
                [](const SafetensorsEntry& entry) { return entry.name.starts_with("optimizer."); });
  write_safetensors(file, folder_.file("foreign.safetensors"));
  Scenario scenario = this->scenario();
  scenario.resume = folder_.file("foreign.safetensors");
  EXPECT_EQ(std::string(error_of(scenario).what()),
            scenario.resume + ": holds tensors, but no state of a training");
  scenario.load = std::exchange(scenario.resume, "");
  EXPECT_EQ(run_quietly(scenario).steps, 13);
}

TEST_F(Checkpoints, WithADamagedStateAreRefusedWhole) {
  const SafetensorsFile good = read_safetensors(taken());
  const std::string bad = folder_.file("bad.safetensors");
  Scenario scenario = this->scenario();
  scenario.resume = bad;
  const auto fault = [&](const auto& change) {
    SafetensorsFile file = good;
    change(file);
    write_safetensors(file, bad);
    return std::string(error_of(scenario).what()).substr(bad.size());
  };
  EXPECT_EQ(fault([](SafetensorsFile& f) { f.header.metadata["ringside.step"] = "-1"; }),
            ": metadata ringside.step '-1': must be a whole number from 0 to 1000000");
  EXPECT_EQ(fault([](SafetensorsFile& f) { f.header.metadata.erase("ringside.epoch"); }),
            ": metadata ringside.epoch '': must be a whole number from 0 to 1000000");
  EXPECT_EQ(fault([](SafetensorsFile& f) { f.header.metadata["ringside"] = "2"; }),
            ": its training state has form 2, this program reads form 1");
  EXPECT_NE(fault([](SafetensorsFile& f) {
              f.header.metadata["ringside.batches"] = "999";
            }).find("batches"),
            std::string::npos);
  EXPECT_NE(fault([](SafetensorsFile& f) {
              f.header.metadata["ringside.buckets"] = "0.bias,x";
            }).find("buckets"),
            std::string::npos);
  EXPECT_NE(fault([](SafetensorsFile& f) {
              f.header.entries.back().name = "optimizer.x";
            }).find("optimizer: "),
            std::string::npos);
}

TEST_F(Checkpoints, OfCountersAreNoWeights) {
  SafetensorsFile file = read_safetensors(taken());
  for (SafetensorsEntry& entry : file.header.entries) {
    if (entry.dtype == "F32") entry.dtype = "I32";
  }
  write_safetensors(file, folder_.file("i32.safetensors"));
  Scenario scenario = this->scenario();
  scenario.load = folder_.file("i32.safetensors");
  EXPECT_EQ(std::string(error_of(scenario).what()),
            scenario.load + ": '0.weight' is I32, but the model's is float32");
}

TEST_F(Checkpoints, AreNotTakenWhereGradientsWait) {
  Scenario scenario = this->scenario();
  scenario.save = folder_.file("a.safetensors");
  scenario.save_every = 4;
  scenario.events = {{ScenarioEvent::Kind::kNoSync, 0, 3}, {ScenarioEvent::Kind::kNoSync, 1, 3}};
  EXPECT_NE(std::string(error_of(scenario).what()).find("after step 3 would lose gradients"),
            std::string::npos);
  scenario.save_every = 5;
  run_quietly(scenario);
}

TEST_F(Checkpoints, WhoseFolderIsGoneFailTheRun) {
  Scenario scenario = this->scenario();
  scenario.save = folder_.file("none/a.safetensors");
  const Error error = error_of(scenario);
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
  EXPECT_NE(std::string(error.what()).find("cannot write"), std::string::npos);
}

}  // namespace
}  // namespace ringside::test
