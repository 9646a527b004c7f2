// ringside checkpoint, and checkpoints of ringside run, as a user has them.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/documented_json.h"
#include "cli/subprocess.h"
#include "core/files.h"
#include "ringside/checkpoint.h"

namespace ringside::test {
namespace {

using nlohmann::json;

std::string checksum_of(const json& document) { return document["checksum"].get<std::string>(); }

TEST(Checkpoint, AScenarioFileSavesAndGoesOn) {
  const ScratchDirectory scratch;
  const std::string file = scratch / "a.safetensors";
  std::ofstream(scratch / "s.toml")
      << "strategy = \"dp\"\ndevices = 2\nmomentum = 0.9\nsteps = 12\n"
      << "save = \"" << file << "\"\nsave-every = 5\n";
  const json whole = result_of(run_ringside({"run", "--config", scratch / "s.toml", "--json"}));
  EXPECT_EQ(whole["files"], json(std::vector<std::string>(3, file)));
  EXPECT_EQ(whole["first_step"], 0);
  result_of(run_ringside({"run", "--config", scratch / "s.toml", "--steps", "4", "--json"}));
  const json resumed =
      result_of(run_ringside({"run", "--config", scratch / "s.toml", "--resume", file, "--json"}));
  EXPECT_EQ(resumed["first_step"], 4);
  EXPECT_EQ(resumed["steps"], 12);
  EXPECT_EQ(resumed["step_losses"].size(), 8U);
  EXPECT_EQ(checksum_of(resumed), checksum_of(whole));
}

TEST(Checkpoint, StepsBeforeItCannotBeRecorded) {
  const ScratchDirectory scratch;
  const std::string file = scratch / "a.safetensors";
  run_ringside({"run", "--steps", "5", "--save", file});
  const ProcessResult refused =
      run_ringside({"run", "--steps", "8", "--resume", file, "--trace", scratch / "t.json"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.errors.find("trace-steps 0-2: the run goes on from step 5: none is recorded"),
            std::string::npos)
      << refused.errors;
  EXPECT_EQ(run_ringside({"run", "--steps", "8", "--resume", file, "--trace", scratch / "t.json",
                          "--trace-steps", "5-6"})
                .status,
            0);
}

TEST(Checkpoint, TheCommandToGoOnWithIsShown) {
  const ScratchDirectory scratch;
  const std::string file = scratch / "a.safetensors";
  run_ringside({"run", "--strategy", "dp", "--devices", "2", "--data", "random:60:64:10", "--lr",
                "0.05", "--shuffle=false", "--steps", "3", "--save", file});
  const ProcessResult text = run_ringside({"checkpoint", file});
  EXPECT_NE(
      text.output.find("Taken after step 3; next is batch 0 of epoch 3.\nTo go on: ringside run "
                       "--strategy dp --devices 2 --data random:60:64:10 --lr 0.05 "
                       "--shuffle=false --resume " +
                       file),
      std::string::npos)
      << text.output;
  const json document = result_of(run_ringside({"checkpoint", file, "--json"}));
  EXPECT_EQ(document["training"]["step"], 3);
  EXPECT_EQ(document["tensors"].size(), 4U);
  EXPECT_EQ(document["tensors"][0]["shape"], json({32, 64}));
}

TEST(Checkpoint, TheCommandToGoOnWithHasThePrefixAndAsksForTheEvents) {
  const ScratchDirectory scratch;
  const std::string file = scratch / "a.safetensors";
  const std::string scenario = scratch / "s.toml";
  std::ofstream(scenario) << "[[events]]\nkind = \"perturb\"\nparameter = \"0.bias\"\n"
                             "amount = 1\n";
  run_ringside({"run", "--config", scenario, "--steps", "2", "--save-wrapped", "--save", file});
  EXPECT_NE(run_ringside({"checkpoint", file})
                .output.find("To go on, with the scenario file that has its events: ringside run "
                             "--config FILE --strip-prefix module. --resume " +
                             file),
            std::string::npos);
  const ProcessResult without =
      run_ringside({"run", "--steps", "4", "--strip-prefix", "module.", "--resume", file});
  EXPECT_NE(without.errors.find("give the scenario file that has the events, with --config"),
            std::string::npos)
      << without.errors;
  EXPECT_EQ(run_ringside({"run", "--config", scenario, "--steps", "4", "--strip-prefix", "module.",
                          "--resume", file})
                .status,
            0);
}

TEST(Checkpoint, TheModelsTensorsAloneGoToAnotherFile) {
  const ScratchDirectory scratch;
  const std::string file = scratch / "a.safetensors";
  const std::string weights = scratch / "w.safetensors";
  run_ringside({"run", "--steps", "2", "--optimizer", "adam", "--save", file});
  result_of(run_ringside(
      {"checkpoint", file, "--weights", weights, "--add-prefix", "module.", "--json"}));
  const json document = result_of(run_ringside({"checkpoint", weights, "--json"}));
  EXPECT_EQ(document["tensors"].size(), 4U);
  EXPECT_EQ(document["tensors"][0]["name"], "module.0.weight");
  EXPECT_TRUE(document["training"].is_null());
  const ProcessResult refused = run_ringside({"run", "--steps", "1", "--load", weights});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.errors.find("add --strip-prefix module."), std::string::npos);
  EXPECT_EQ(
      run_ringside({"run", "--steps", "1", "--load", weights, "--strip-prefix", "module."}).status,
      0);
}

TEST(Checkpoint, TheFileItselfIsNotWrittenOver) {
  const ScratchDirectory scratch;
  const std::string file = scratch / "a.safetensors";
  run_ringside({"run", "--steps", "2", "--save", file});
  const std::string before = read_whole_file(file);
  const ProcessResult refused =
      run_ringside({"checkpoint", file, "--weights", scratch / "./a.safetensors"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.errors.find("would write its results over it"), std::string::npos)
      << refused.errors;
  EXPECT_EQ(read_whole_file(file), before);
}

TEST(Checkpoint, OneLongNameDoesNotPadAllRows) {
  const ScratchDirectory scratch;
  const std::string file = scratch / "a.safetensors";
  SafetensorsFile written;
  const std::vector<std::int64_t> empty = {std::int64_t{1} << 62, 3, 0};
  written.add("begin" + std::string(1'000'000, 'x') + "end", "U8", empty, {});
  for (int i = 0; i < 100; ++i) written.add(std::to_string(i), "U8", empty, {});
  write_safetensors(written, file);
  const ProcessResult shown = run_ringside({"checkpoint", file});
  EXPECT_EQ(shown.status, 0) << shown.errors;
  EXPECT_LT(shown.output.size(), 20'000U);
  EXPECT_NE(shown.output.find("beginxxx"), std::string::npos) << shown.output;
  EXPECT_NE(shown.output.find("xxxend "), std::string::npos) << shown.output;
  EXPECT_NE(shown.output.find("101 tensors of the model with 0 elements"), std::string::npos)
      << shown.output;
}

TEST(Checkpoint, AFullDiskFailsTheRunAndSaysWhy) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const ProcessResult result = run_ringside({"run", "--steps", "2", "--save", "/dev/full"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.errors.find("cannot write /dev/full: No space left on device"),
            std::string::npos)
      << result.errors;
}

TEST(Checkpoint, ADataFileIsNotWrittenOver) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "t.txt") << std::string(4000, 'x');
  const ProcessResult result =
      run_ringside({"run", "--model", "gpt", "--data", "text:" + (scratch / "t.txt"), "--save",
                    scratch / "t.txt"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.errors.find("would write its results over it"), std::string::npos);
}

}  // namespace
}  // namespace ringside::test
