// The scenario files of the repository run, or fail as they say.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/subprocess.h"

namespace ringside::test {
namespace {

namespace fs = std::filesystem;

struct Expected {
  int status;
  std::string message;  ///< part of standard error
};

// A file that is not listed here must run well, and say nothing on standard error.
const std::map<std::string, Expected>& failing() {
  static const std::map<std::string, Expected> kFailing = {
      {"ddp-bucket-waits.toml", {0, "did not find any unused parameters in the forward pass"}},
      {"ddp-gradient-view.toml", {1, "is not the expected DDP bucket view"}},
      {"ddp-other-model.toml", {1, "params[0] (0.weight) in this process with sizes [12, 64]"}},
      {"ddp-ready-twice.toml", {1, "Expected to mark a variable ready only once"}},
      {"ddp-sum-hook.toml", {1, "verify"}},
      {"rank-stops.toml", {1, "rank 3 stopped before step 2"}},
      {"ddp-find-unused.toml", {0, "did not find any unused parameters in the forward pass"}},
      {"dp-flag-keyword.toml",
       {1, "in replica 3 on device 3: forward() missing 1 required positional argument: 'input'"}},
      {"dp-keyword-tensor.toml",
       {1,
        "in replica 3 on device 3: forward() missing 1 required keyword-only argument: 'extra'"}},
      {"dp-rows-dropped.toml",
       {1, "verify: after step 1 the gradient of 0.weight is not that of a single device"}},
      {"dp-uneven-outputs.toml",
       {1, "gather: Input tensor at index 3 has invalid shape [1, 10], but expected [1, 20]"}},
      {"dp-loss-in-forward.toml", {0, "but all input tensors were scalars"}},
      {"dp-module-elsewhere.toml", {1, "but found one of them on device 1: 0.weight"}},
      {"dp-wrapped-optimizer.toml", {1, "'DataParallel' object has no attribute 'step'"}},
      {"other-collective.toml", {1, "broadcast"}},
      {"out-of-memory.toml", {1, "out of memory"}},
      {"silent-fault.toml",
       {1, "rank 2: verify: after step 3 parameter 2.bias is not that of rank 0"}},
      {"unused-head.toml",
       {1, "did not receive grad for rank 2: 4 5 (second.weight, second.bias)"}},
  };
  return kFailing;
}

std::string root() { return std::string(RINGSIDE_TEST_DATA_DIR) + "/.."; }

/// The commands in the table of docs/examples.md, by the scenario file that each names.
std::map<std::string, std::vector<std::string>> documented_commands() {
  std::ifstream file(root() + "/docs/examples.md");
  const std::regex row("\\| `ringside (run --config scenarios/([^ `]+)[^`]*)` \\|.*");
  std::map<std::string, std::vector<std::string>> commands;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    std::istringstream words(match[1]);
    const bool is_new = commands
                            .try_emplace(match[2], std::istream_iterator<std::string>(words),
                                         std::istream_iterator<std::string>())
                            .second;
    EXPECT_TRUE(is_new) << match[2] << " has two rows";
  }
  return commands;
}

TEST(Scenarios, TheDocumentedOnesAreTheFiles) {
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(root() + "/scenarios")) {
    files.insert(entry.path().filename().string());
  }
  std::set<std::string> documented;
  for (const auto& [file, command] : documented_commands()) documented.insert(file);
  EXPECT_EQ(documented, files) << "docs/examples.md has a row for every file of scenarios/";
}

TEST(Scenarios, EveryDocumentedCommandDoesWhatTheFileSays) {
  const ScratchDirectory scratch;
  fs::create_directory_symlink(fs::canonical(root() + "/scenarios"), scratch / "scenarios");
  ProcessOptions options;
  options.directory = scratch.path();
  for (const auto& [file, command] : documented_commands()) {
    const ProcessResult result = run_ringside(command, options);
    SCOPED_TRACE(result.command + "\n" + result.output + result.errors);
    EXPECT_FALSE(result.timed_out);
    const auto found = failing().find(file);
    if (found == failing().end()) {
      EXPECT_EQ(result.status, 0);
      EXPECT_EQ(result.errors, "");
      continue;
    }
    EXPECT_EQ(result.status, found->second.status);
    EXPECT_NE(result.errors.find(found->second.message), std::string::npos);
  }
}

TEST(Scenarios, TheCommandLineOverridesTheFile) {
  const std::string file = root() + "/scenarios/dp-four-devices.toml";
  const ProcessResult result =
      run_ringside({"run", "--config", file, "--steps", "2", "--devices", "2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_TRUE(result.output.find("dp on 2 sim devices") != std::string::npos) << result.output;
  EXPECT_NE(result.output.find("\n2 steps in"), std::string::npos) << result.output;
  const ProcessResult epochs = run_ringside({"run", "--config", file, "--epochs", "1"});
  EXPECT_EQ(epochs.status, 0) << epochs.errors;
  EXPECT_NE(epochs.output.find("\n24 steps in"), std::string::npos) << epochs.output;
}

}  // namespace
}  // namespace ringside::test
