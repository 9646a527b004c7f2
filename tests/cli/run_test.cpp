// ringside run and draw, from the outside: results, files, documents, and what goes wrong.

#include <gtest/gtest.h>
#include <zlib.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/documented_json.h"
#include "cli/subprocess.h"
#include "core/files.h"

namespace ringside::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

void expect_keys(const json& document, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) EXPECT_TRUE(document.contains(key)) << key;
}

const std::vector<std::string> kShortRun = {"run", "--steps", "3", "--batch-size", "16"};

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Run, TheDocumentHasWhatIsPromised) {
  const ProcessResult result = run_ringside(with(kShortRun, {"--json"}));
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  const json document = document_of(result);
  EXPECT_EQ(document["ringside"], "run");
  EXPECT_EQ(document["version"], 1);
  expect_keys(document,
              {"program", "scenario", "steps", "epochs", "step_losses", "parameters",
               "parameter_bytes", "checksum", "rank_checksums", "rank_parameter_checksums",
               "memory", "first_step_seconds", "seconds", "files"});
  EXPECT_EQ(document["steps"], 3);
  EXPECT_EQ(document["step_losses"].size(), 3u);
  EXPECT_EQ(document["scenario"]["strategy"], "ddp");
  EXPECT_EQ(document["rank_checksums"].size(), 4u);
  for (const json& checksum : document["rank_checksums"]) {
    EXPECT_EQ(checksum, document["rank_checksums"][0]);
  }
  EXPECT_EQ(document["memory"].size(), 4u);
  EXPECT_EQ(document["files"], json::array());
}

TEST(Run, StrategiesAgreeAndRunsRepeat) {
  const auto losses = [](const std::vector<std::string>& words) {
    const ProcessResult result = run_ringside(with(words, {"--steps", "3", "--json"}));
    EXPECT_EQ(result.status, 0) << result.command << result.errors;
    return document_of(result)["step_losses"].get<std::vector<double>>();
  };
  const auto single = losses({"run", "--strategy", "single", "--batch-size", "64"});
  const auto dp = losses({"run", "--strategy", "dp", "--batch-size", "64"});
  const auto ddp = losses({"run", "--strategy", "ddp", "--batch-size", "16"});
  EXPECT_EQ(ddp, losses({"run", "--strategy", "ddp", "--batch-size", "16"}));
  ASSERT_EQ(single.size(), 3u);
  for (std::size_t i = 0; i < single.size(); ++i) {
    EXPECT_NEAR(dp[i], single[i], 1e-4 * single[i]);
    EXPECT_NEAR(ddp[i], single[i], 1e-4 * single[i]);
  }
}

// The demo's network, not far enough to learn anything; three buckets.
TEST(Run, StrategiesAgreeOnConvolutionsToo) {
  const auto losses = [](const std::vector<std::string>& words) {
    const ProcessResult result = run_ringside(with(
        {"run", "--model", "cnn:32,64,128:tanh", "--dtype", "float64", "--steps", "2", "--json"},
        words));
    return result_of(result)["step_losses"].get<std::vector<double>>();
  };
  const auto single = losses({"--strategy", "single", "--batch-size", "16"});
  const auto dp = losses({"--strategy", "dp", "--batch-size", "16"});
  const auto ddp = losses({"--strategy", "ddp", "--batch-size", "4", "--first-bucket-mb", "0.009",
                           "--bucket-cap-mb", "0.2"});
  ASSERT_EQ(single.size(), 2u);
  for (std::size_t i = 0; i < single.size(); ++i) {
    EXPECT_NEAR(dp[i], single[i], 1e-12 * single[i]);
    EXPECT_NEAR(ddp[i], single[i], 1e-12 * single[i]);
  }
}

TEST(Run, QuietSaysNothingAndTextSaysWhatHappened) {
  const ProcessResult quiet = run_ringside(with(kShortRun, {"--quiet"}));
  EXPECT_EQ(quiet.status, 0);
  EXPECT_EQ(quiet.output + quiet.errors, "");
  const ProcessResult text = run_ringside(kShortRun);
  EXPECT_TRUE(text.output.starts_with("ddp on 4 sim devices, mlp:64,32,10, digits")) << text.output;
  EXPECT_NE(text.output.find("3 steps in "), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("the same on 4 ranks"), std::string::npos) << text.output;
}

TEST(Run, ThatAllRanksLeftIsAnErrorAndNoResult) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "s.toml") << "devices = 1\n[[events]]\nkind = \"stop\"\nrank = 0\n";
  const ProcessResult result = run_ringside({"run", "--config", scratch / "s.toml"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.errors.find("rank 0 stopped before step 0"), std::string::npos) << result.errors;
  EXPECT_EQ(result.output, "");
}

TEST(Run, ResultsAreNotWrittenOverWhatTheRunReads) {
  const ScratchDirectory scratch;
  ProcessOptions options;
  options.directory = scratch.path();
  const std::string scenario = "steps = 1\ndevices = 1\n";
  const std::string text(3000, 'a');
  std::ofstream(scratch / "s.toml") << scenario;
  std::ofstream(scratch / "report.json") << text;
  const auto refused = [&](const std::vector<std::string>& words, const std::string& input) {
    const ProcessResult result = run_ringside(with({"run"}, words), options);
    EXPECT_EQ(result.status, 2) << result.command;
    EXPECT_NE(result.errors.find("the run reads " + input + " and would write"), std::string::npos)
        << result.errors;
  };
  refused({"--config", "s.toml", "--trace", "./s.toml"}, "s.toml");
  refused({"--model", "gpt:layers=1", "--data", "text:report.json", "--batch-size", "2", "--steps",
           "1", "--devices", "1", "--out", "."},
          "report.json");
  EXPECT_EQ(read_whole_file(scratch / "s.toml"), scenario);
  EXPECT_EQ(read_whole_file(scratch / "report.json"), text);
}

TEST(Run, APathWithANulIsRefused) {
  const ScratchDirectory scratch;
  ProcessOptions options;
  options.directory = scratch.path();
  std::ofstream(scratch / "s.toml") << "steps = 1\ntrace = \"foo\\u0000bar\"\n";
  const ProcessResult result = run_ringside({"run", "--config", "s.toml"}, options);
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.errors.find("trace: must be a text without NUL"), std::string::npos)
      << result.errors;
  EXPECT_EQ(scratch.files(), std::vector<std::string>{"s.toml"});
}

TEST(Run, MetaSaysThatItComputesNothing) {
  const ProcessResult result =
      run_ringside({"run", "--backend", "meta", "--devices", "64", "--steps", "1"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_NE(result.output.find("meta executes nothing"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("loss of"), std::string::npos) << result.output;
}

TEST(Run, WritesTraceReportAndPictures) {
  const ScratchDirectory scratch;
  const ProcessResult result = run_ringside(
      with(kShortRun, {"--trace", scratch / "own.json", "--out", scratch / "out", "--json"}));
  ASSERT_EQ(result.status, 0) << result.errors;
  const std::vector<std::string> files = scratch.files();
  EXPECT_EQ(files.front(), "out/report.json");
  EXPECT_TRUE(fs::exists(scratch / "own.json"));
  EXPECT_TRUE(fs::exists(scratch / "out/trace.json"));
  EXPECT_GE(files.size(), 6u);
  const json report = json::parse(read_whole_file(scratch / "out/report.json"));
  EXPECT_EQ(report["checksum"], document_of(result)["checksum"]);
  for (const json& file : report["files"]) EXPECT_TRUE(fs::exists(file.get<std::string>())) << file;

  const ProcessResult drawn =
      run_ringside({"draw", "--trace", scratch / "own.json", "--out", scratch / "dot", "--step",
                    "1", "--format", "dot", "--theme", "dark", "--json"});
  ASSERT_EQ(drawn.status, 0) << drawn.errors;
  const json document = document_of(drawn);
  EXPECT_EQ(document["ringside"], "draw");
  expect_keys(document, {"strategy", "devices", "step", "failure", "pictures", "files"});
  EXPECT_EQ(document["step"], 1);
  EXPECT_GE(document["files"].size(), 2u);
  bool timeline = false;
  for (const json& picture : document["pictures"]) {
    expect_keys(picture, {"name", "title", "caption"});
    timeline = timeline || picture["name"].get<std::string>().find("timeline") != std::string::npos;
  }
  EXPECT_TRUE(timeline) << "ddp has a picture of its timeline";

  const ProcessResult no_step = run_ringside(
      {"draw", "--trace", scratch / "own.json", "--out", scratch / "dot", "--step", "7"});
  EXPECT_EQ(no_step.status, 2);
  const ProcessResult no_phase = run_ringside(
      {"draw", "--trace", scratch / "own.json", "--out", scratch / "dot", "--phase", "lunch"});
  EXPECT_EQ(no_phase.status, 2);
}

TEST(Run, ThatFailsStillWritesWhatItHadDone) {
  const ScratchDirectory scratch;
  for (const std::string scenario :
       {"rank-stops", "other-collective", "out-of-memory", "unused-head"}) {
    SCOPED_TRACE(scenario);
    const std::string file = std::string(RINGSIDE_TEST_DATA_DIR) + "/../scenarios/" + scenario;
    const std::string directory = scratch / scenario;
    const ProcessResult result =
        run_ringside({"run", "--config", file + ".toml", "--out", directory});
    EXPECT_NE(result.status, 0);
    EXPECT_NE(result.errors.find("the run failed; what it had done until then is in"),
              std::string::npos)
        << result.errors;
    EXPECT_FALSE(fs::exists(directory + "/report.json"));
    const std::string trace = directory + "/trace.json";
    const json run = json::parse(read_whole_file(trace))["run"];
    const ProcessResult drawn =
        run_ringside({"draw", "--trace", trace, "--out", directory, "--format", "dot"});
    EXPECT_EQ(drawn.status, 0) << drawn.errors;
    EXPECT_NE(drawn.output.find("The run failed in step " + run["failed_step"].dump() + ": "),
              std::string::npos)
        << drawn.output;
    EXPECT_TRUE(fs::exists(directory + "/step" + run["failed_step"].dump() + ".dot"));
  }
}

// Device 0 runs out of memory in its forward; device 1's thread still runs its own.
TEST(Run, ThatFailsIsDrawnAsFarAsEachDeviceCame) {
  const ScratchDirectory scratch;
  const std::string file = RINGSIDE_TEST_DATA_DIR "/../scenarios/out-of-memory.toml";
  const std::string trace = scratch / "trace.json";
  EXPECT_EQ(run_ringside({"run", "--config", file, "--trace", trace}).status, 1);
  const ProcessResult drawn =
      run_ringside({"draw", "--trace", trace, "--out", scratch / "pictures"});
  EXPECT_NE(
      drawn.output.find("forward: The run failed in this step; 2 of 2 devices came so far: 0, 1."),
      std::string::npos)
      << drawn.output;
}

TEST(Run, ThatFailsTooEarlySaysWhatIsMissing) {
  const ScratchDirectory scratch;
  const std::string trace = scratch / "trace.json";
  const ProcessResult nothing = run_ringside({"run", "--memory", "1", "--trace", trace});
  EXPECT_NE(nothing.errors.find("no trace is written"), std::string::npos) << nothing.errors;
  EXPECT_FALSE(fs::exists(trace));
  const ProcessResult no_step = run_ringside(
      {"run", "--devices", "2", "--memory", "15000", "--steps", "1", "--trace", trace});
  EXPECT_NE(no_step.errors.find("step 0, in which it failed, is not among the recorded ones"),
            std::string::npos)
      << no_step.errors;
  const ProcessResult drawn =
      run_ringside({"draw", "--trace", trace, "--out", scratch / "pictures"});
  EXPECT_EQ(drawn.status, 2);
  EXPECT_NE(drawn.errors.find("the run failed before a step was recorded: "), std::string::npos)
      << drawn.errors;
}

TEST(Run, StepsThatTheRunDoesNotHaveCannotBeRecorded) {
  const ScratchDirectory scratch;
  const ProcessResult result =
      run_ringside(with(kShortRun, {"--trace", scratch / "t.json", "--trace-steps", "50-60"}));
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.errors.find("trace-steps 50-60: the run has 3 steps"), std::string::npos)
      << result.errors;
  const ProcessResult epochs = run_ringside(
      {"run", "--epochs", "2", "--trace", scratch / "t.json", "--trace-steps", "5000"});
  EXPECT_EQ(epochs.status, 2);
  EXPECT_NE(epochs.errors.find("the run has 12 steps"), std::string::npos) << epochs.errors;
  EXPECT_EQ(epochs.output, "") << "it is told before an epoch is over";
}

TEST(Run, AFullDiskIsAnError) {
  const ProcessResult trace = run_ringside(with(kShortRun, {"--trace", "/dev/full"}));
  EXPECT_EQ(trace.status, 1);
  EXPECT_NE(trace.errors.find("No space left on device"), std::string::npos) << trace.errors;
  for (const std::vector<std::string>& words : {with(kShortRun, {}),
                                                with(kShortRun, {"--json"}),
                                                {"--help"},
                                                {"--version"},
                                                {"doctor", "--json"},
                                                {"completion", "bash"},
                                                {"run", "--help"}}) {
    const ProcessResult result =
        run_ringside(words, {.environment = {}, .directory = "", .standard_output = "/dev/full"});
    EXPECT_EQ(result.status, 1) << result.command;
    EXPECT_EQ(result.errors,
              "ringside: error: cannot write to standard output: No space left on device\n")
        << result.command;
  }
}

TEST(Run, AFileOverTheUsersLimitIsAnError) {
  const ScratchDirectory scratch;
  const std::string command =
      "ulimit -f 10; exec " RINGSIDE_PROGRAM " run --steps 1 --quiet --trace " + scratch / "t.json";
  const ProcessResult result = run_process({"/bin/sh", "-c", command}, {});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.errors,
            "ringside: error: cannot write " + scratch / "t.json" + ": File too large\n");
  EXPECT_TRUE(scratch.files().empty());
}

TEST(Run, AClosedPipeEndsItQuietly) {
  ProcessOptions options;
  options.close_output = true;
  const ProcessResult result = run_ringside({"run", "--epochs", "3"}, options);
  EXPECT_EQ(result.status, 128 + SIGPIPE);
  EXPECT_EQ(result.errors, "");
}

TEST(Run, AnInterruptEndsItAtOnceAndLeavesNothingHalf) {
  const ScratchDirectory scratch;
  ProcessOptions options;
  options.signal = SIGINT;
  options.signal_after = std::chrono::milliseconds(300);
  const ProcessResult result =
      run_ringside({"run", "--epochs", "100000", "--trace", scratch / "t.json"}, options);
  EXPECT_EQ(result.status, 130);
  EXPECT_LT(result.seconds, 5);
  EXPECT_EQ(scratch.files(), std::vector<std::string>());
}

TEST(Run, SaysWhatIsWrongWithData) {
  const ScratchDirectory scratch;
  fs::create_directories(scratch / "mnist");
  const auto run_on = [&](const std::string& data) {
    ProcessResult result = run_ringside({"run", "--data", data, "--steps", "1"});
    EXPECT_FALSE(result.timed_out);
    EXPECT_TRUE(result.errors.starts_with("ringside: error: ")) << result.errors;
    return result;
  };
  EXPECT_EQ(run_on("mnist:/nowhere").status, 2);
  EXPECT_EQ(run_on("mnist:" + scratch.path() + "/mnist").status, 2);
  EXPECT_EQ(run_on("digitz").status, 2);
  EXPECT_EQ(run_on("random:0:64:10").status, 2);
  EXPECT_EQ(run_on("random:10:64").status, 2);

  // A gzip file cut in the middle.
  const std::string name = scratch / "mnist/train-images-idx3-ubyte.gz";
  gzFile file = gzopen(name.c_str(), "wb");
  const std::string bytes(50'000, '\7');
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  fs::resize_file(name, fs::file_size(name) / 2);
  const ProcessResult truncated = run_on("mnist:" + scratch.path() + "/mnist");
  EXPECT_EQ(truncated.status, 2);
  EXPECT_NE(truncated.errors.find("train-images"), std::string::npos) << truncated.errors;

  // A model that does not fit the data.
  const ProcessResult shape = run_ringside({"run", "--model", "mlp:65,10", "--steps", "1"});
  EXPECT_EQ(shape.status, 2);
  EXPECT_NE(shape.errors.find("65"), std::string::npos) << shape.errors;
  const ProcessResult model = run_ringside({"run", "--model", "transformer", "--steps", "1"});
  EXPECT_EQ(model.status, 2);
}

TEST(Run, SaysWhatIsWrongWithATrace) {
  const ScratchDirectory scratch;
  write_whole_file(scratch / "bad.json", R"({"ringside": "trace")");
  const ProcessResult result =
      run_ringside({"draw", "--trace", scratch / "bad.json", "--out", scratch / "x"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.errors.find("bad.json"), std::string::npos) << result.errors;
  EXPECT_EQ(scratch.files(), std::vector<std::string>{"bad.json"});
}

TEST(Run, WhatOnlyDrawingFindsWrongWithATraceIsToldWithItsFile) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "t.json";
  ASSERT_EQ(run_ringside(with(kShortRun, {"--trace", path})).status, 0);
  std::string text = read_whole_file(path);
  const std::string strategy = R"("strategy":"ddp")";
  ASSERT_NE(text.find(strategy), std::string::npos);
  text.replace(text.find(strategy), strategy.size(), R"("strategy":"\u001b[31mx")");
  write_whole_file(path, text);
  const ProcessResult result = run_ringside({"draw", "--trace", path, "--out", scratch / "x"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.errors, "ringside: error: " + path +
                               ": strategy '\\x1b[31mx': pictures of a step are drawn for single, "
                               "dp, ddp and ps\n");
}

TEST(Run, TrainingThatDivergesIsAnError) {
  const ProcessResult result =
      run_ringside({"run", "--strategy", "single", "--lr", "1e9", "--epochs", "2"});
  EXPECT_EQ(result.status, 1) << result.output;
  EXPECT_NE(result.errors.find("ringside: error: "), std::string::npos);
}

TEST(Run, OutOfMemoryIsAnErrorWithNumbers) {
  const ProcessResult result = run_ringside(with(kShortRun, {"--memory", "4kB"}));
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.errors.find("out of memory"), std::string::npos) << result.errors;
}

}  // namespace
}  // namespace ringside::test
