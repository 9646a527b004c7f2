// Checkpoints: what is in them, which of them are taken, and what is said of the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/temporary_folder.h"
#include "parallel/short_training.h"
#include "parallel/text_file.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"
#include "ringside/scenario.h"

namespace ringside::test {
namespace {

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
  static void renames_optimizer_entries(const std::string& path, const std::string& from,
                                        const std::string& to) {
    SafetensorsFile file = read_safetensors(path);
    for (SafetensorsEntry& entry : file.header.entries) {
      if (entry.name.starts_with(from)) entry.name.replace(0, from.size(), to);
    }
    write_safetensors(file, path);
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
  for (std::size_t i = 0; i < state.size(); ++i) {
    expected[i] = "module." + state[i];
    expected[state.size() + i] = "optimizer.module." + state[i] + ".momentum_buffer";
  }
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

// A rule is for the model's keys and the optimiser's; older files have the wrapper's prefix on the
// model's alone.
TEST_F(Checkpoints, OfAWrapperAreResumedWithOneRule) {
  const std::string whole = run_quietly(scenario()).checksum;
  Scenario scenario = this->scenario();
  scenario.resume = taken(true);
  scenario.strip_prefix = "module.";
  EXPECT_EQ(run_quietly(scenario).checksum, whole);
  renames_optimizer_entries(scenario.resume, "optimizer.module.", "optimizer.");
  EXPECT_EQ(run_quietly(scenario).checksum, whole);
}

TEST_F(Checkpoints, OfferThePrefixOfTheOptimizersEntries) {
  const std::string whole = run_quietly(scenario()).checksum;
  Scenario scenario = this->scenario();
  scenario.resume = taken();
  renames_optimizer_entries(scenario.resume, "optimizer.", "optimizer.net.");
  const Error error = error_of(scenario);
  EXPECT_EQ(error.what(), scenario.resume +
                              ": optimizer: has the state of other parameters than the model's: "
                              "net.0.weight");
  EXPECT_EQ(error.hint(),
            "with 'net.*' renamed to '*' 4 of 4 expected keys match: add --rename-prefix net.=");
  scenario.rename_prefix = "net.=";
  EXPECT_EQ(run_quietly(scenario).checksum, whole);
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
  EXPECT_EQ(fault([](SafetensorsFile& f) { f.header.metadata["ringside.step"] = "7"; }),
            ": step, epoch and batches do not agree: step 7, epoch 0, batches 3; with 8 batches an "
            "epoch that place is after step 3");
  EXPECT_EQ(fault([](SafetensorsFile& f) { f.header.metadata["ringside.epoch"] = "1"; }),
            ": step, epoch and batches do not agree: step 3, epoch 1, batches 3; with 8 batches an "
            "epoch that place is after step 11");
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

TEST_F(Checkpoints, AreNotTakenWhereZeroedGradientsMatter) {
  Scenario scenario = this->scenario();
  scenario.set_to_none = false;
  scenario.save = folder_.file("a.safetensors");
  EXPECT_EQ(run_quietly(scenario).saved.size(), 1U);
  scenario.events = {{ScenarioEvent::Kind::kSlow, 0, 2, "", 1},
                     {ScenarioEvent::Kind::kFreeze, 0, 2, "0.bias", 0}};
  EXPECT_EQ(std::string(error_of(scenario).what()),
            "set-to-none false: event freeze leaves zeroed gradients that the next step needs, and "
            "no checkpoint has any");
  scenario.save.clear();
  scenario.resume = folder_.file("a.safetensors");
  EXPECT_NE(std::string(error_of(scenario).what()).find("event freeze leaves"), std::string::npos);
}

TEST_F(Checkpoints, WhoseFolderIsGoneFailTheRun) {
  Scenario scenario = this->scenario();
  scenario.save = folder_.file("none/a.safetensors");
  const Error error = error_of(scenario);
  EXPECT_EQ(error.kind(), ErrorKind::kIo);
  EXPECT_NE(std::string(error.what()).find("cannot write"), std::string::npos);
}

// After the others' last step rank 0 has what they have: then its file is written.
TEST_F(Checkpoints, AreWrittenWhereRankZeroWasTheFirstToEnd) {
  Scenario scenario = this->scenario();
  scenario.join = "active";
  scenario.steps = 8;
  scenario.events = {{ScenarioEvent::Kind::kFewerBatches, 0, 0, "", 3}};
  const RunReport whole = run_quietly(scenario);
  scenario.save = folder_.file("joined-{step}.safetensors");
  scenario.save_every = 7;
  const RunReport saved = run_quietly(scenario);
  EXPECT_EQ(saved.checksum, whole.checksum);
  ASSERT_FALSE(saved.saved.empty());
  EXPECT_EQ(saved.saved.back(),
            folder_.file("joined-" + std::to_string(saved.steps) + ".safetensors"));
}

// All ranks have a batch less than the epoch: it ends before the step that was reckoned to be last.
TEST_F(Checkpoints, AreWrittenAtTheEndWhereverThatIs) {
  Scenario scenario = this->scenario();
  scenario.steps.reset();
  scenario.epochs = 1;
  scenario.events = {{ScenarioEvent::Kind::kFewerBatches, 0, 0, "", 1},
                     {ScenarioEvent::Kind::kFewerBatches, 1, 0, "", 1}};
  scenario.save = folder_.file("end.safetensors");
  EXPECT_EQ(run_quietly(scenario).saved, std::vector<std::string>{scenario.save});
}

TEST_F(Checkpoints, SayWhichRanksTheyLeaveOut) {
  Scenario scenario = this->scenario();
  scenario.steps = 3;
  scenario.save = folder_.file("a.safetensors");
  EXPECT_EQ(run_quietly(scenario).warnings, std::vector<std::string>{});
  scenario.events = {{ScenarioEvent::Kind::kPerturb, 1, 1, "0.weight", 1}};
  const std::vector<std::string> warnings = run_quietly(scenario).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("after step 3 has the values of rank 0; those of rank 1 are others"),
            std::string::npos)
      << warnings[0];
}

// A rule that finds nothing is a mistake; and what is offered stands in place of the rules in use.
TEST_F(Checkpoints, RulesOfNoUseAreErrorsAndOthersAreAddedTo) {
  Scenario scenario = this->scenario();
  scenario.load = taken();
  scenario.strip_prefix = "nothere.";
  Error error = error_of(scenario);
  EXPECT_EQ(std::string(error.what()),
            scenario.load + ": no key begins with 'nothere.', which is to become ''");
  EXPECT_EQ(error.hint(), "the first key is '0.weight'");
  scenario.strip_prefix = "";
  scenario.add_prefix = "module.";
  EXPECT_EQ(error_of(scenario).hint(),
            "as they are written all keys match: leave --add-prefix module. out");
  scenario.load = taken(true);
  scenario.add_prefix = "";
  scenario.rename_prefix = "module.=x.";
  EXPECT_EQ(error_of(scenario).hint(),
            "with 'module.*' renamed to '*' 4 of 4 expected keys match: give --strip-prefix "
            "module. in place of --rename-prefix module.=x.");
}

// Where no rules make all keys match, those in use stay, and others are added to them.
TEST_F(Checkpoints, RulesThatHelpAPartAreAddedToThoseInUse) {
  Scenario scenario = this->scenario();
  scenario.load = taken(true);
  scenario.model = "mlp:64,12,10";
  scenario.strip_prefix = "module.";
  scenario.add_prefix = "a.";
  EXPECT_NE(error_of(scenario).hint().find("add --rename-prefix a.="), std::string::npos)
      << error_of(scenario).hint();
  scenario.rename_prefix = "a.=b.";
  EXPECT_NE(error_of(scenario).hint().find("give --rename-prefix a.=b.,b.="), std::string::npos)
      << error_of(scenario).hint();
  scenario.rename_prefix = "a.=b.,b.=";
  scenario.model = "mlp:64,16,10";
  EXPECT_EQ(run_quietly(scenario).steps, 13);
}

TEST_F(Checkpoints, KnowTheDataTheyWereTrainedOn) {
  const TextFile text(4000);
  Scenario scenario = small_scenario("single", 1);
  scenario.model = "gpt:layers=1,heads=2,width=16,context=16";
  scenario.data = text.spec();
  scenario.steps = 2;
  scenario.save = folder_.file("a.safetensors");
  run_quietly(scenario);
  scenario.resume = std::exchange(scenario.save, "");
  scenario.steps = 4;
  EXPECT_EQ(run_quietly(scenario).steps, 4);
  std::ofstream(text.path(), std::ios::app) << "one word more";
  EXPECT_NE(std::string(error_of(scenario).what()).find(": data text:"), std::string::npos);
  scenario.load = std::exchange(scenario.resume, "");
  EXPECT_EQ(run_quietly(scenario).steps, 4);
}

TEST_F(Checkpoints, OfOptionsUnknownAreRefused) {
  SafetensorsFile file = read_safetensors(taken());
  file.header.metadata["ringside.option.warp"] = "9";
  Scenario scenario = this->scenario();
  scenario.resume = folder_.file("bad.safetensors");
  write_safetensors(file, scenario.resume);
  EXPECT_EQ(
      std::string(error_of(scenario).what()),
      scenario.resume + ": metadata ringside.option.warp '9': this program has no such option");
}

TEST_F(Checkpoints, WithValuesThatAreNotFiniteAreSuspected) {
  SafetensorsFile file;
  const SafetensorsFile good = read_safetensors(taken());
  for (const SafetensorsEntry& entry : good.header.entries) {
    const auto bytes = good.bytes_of(entry);
    std::vector<float> values(bytes.size() / sizeof(float),
                              std::numeric_limits<float>::quiet_NaN());
    if (!entry.name.starts_with("optimizer.")) {
      file.add(entry.name, entry.dtype, entry.shape, std::as_bytes(std::span(values)));
    }
  }
  Scenario scenario = this->scenario();
  scenario.load = folder_.file("nan.safetensors");
  write_safetensors(file, scenario.load);
  const Error error = error_of(scenario);
  EXPECT_EQ(error.kind(), ErrorKind::kNotFinite);
  EXPECT_NE(error.hint().find("nan.safetensors values that are not finite?"), std::string::npos)
      << error.hint();
}

}  // namespace
}  // namespace ringside::test
