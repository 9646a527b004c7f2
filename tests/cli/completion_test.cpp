// The completion scripts, in the shells that they are for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/command.h"
#include "cli/subprocess.h"

namespace ringside::test {
namespace {

// What the script says of a command begins, in each shell, with its name; an option with "--" or
// "-l " and its name, and a word that may not go on.
TEST(Completion, KnowsEveryCommandAndOption) {
  struct Shell {
    const char* name;
    const char* before_command;
    const char* before_option;
    const char* behind_option;
  };
  for (const Shell& shell :
       {Shell{"bash", "\n    ", " --", " '"}, Shell{"zsh", "\n    ", "'--", "["},
        Shell{"fish", "__fish_seen_subcommand_from ", " -l ", " "}}) {
    const ProcessResult result = run_ringside({"completion", shell.name});
    EXPECT_EQ(result.status, 0);
    for (const cli::Command& command : cli::commands()) {
      const std::string begin = shell.before_command + std::string(command.name);
      EXPECT_NE(result.output.find(begin), std::string::npos) << shell.name << ' ' << command.name;
      for (const cli::Option& option : cli::all_options(command)) {
        const std::string text = shell.before_option + std::string(option.name);
        std::size_t at = result.output.find(text);
        const std::string_view behind = shell.behind_option;
        while (at != std::string::npos &&
               behind.find(result.output[at + text.size()]) == std::string_view::npos) {
          at = result.output.find(text, at + 1);
        }
        EXPECT_NE(at, std::string::npos) << shell.name << ' ' << option.name;
      }
    }
  }
}

TEST(Completion, BashCompletesCommandsOptionsAndValues) {
  const auto completed = [](const std::string& words, int position) {
    const std::string script = "source <(" RINGSIDE_PROGRAM " completion bash); COMP_WORDS=(" +
                               words + "); COMP_CWORD=" + std::to_string(position) +
                               "; _ringside; echo \"${COMPREPLY[*]}\"";
    return run_process({"/bin/bash", "-c", script}, {}).output;
  };
  EXPECT_EQ(completed("ringside dem", 1), "demo\n");
  EXPECT_EQ(completed("ringside run --bat", 2), "--batch-size\n");
  EXPECT_EQ(completed("ringside run --strategy d", 3), "dp ddp\n");
  EXPECT_EQ(completed("ringside collective all-", 2), "all-reduce all-gather all-to-all\n");
  EXPECT_EQ(completed("ringside bench sendr", 2), "sendrecv\n");
  EXPECT_EQ(completed("ringside bench all-reduce --backend m", 4), "mpi\n");
  EXPECT_EQ(completed("ringside run --lr ''", 3), "\n");
  EXPECT_EQ(completed("ringside completion ba", 2), "bash\n");
  // A file is a word of its own, not the word FILE.
  const ScratchDirectory here;
  std::ofstream(here.path() + "/a.safetensors") << "";
  const std::string start = here.path() + "/a.";
  EXPECT_EQ(completed("ringside checkpoint " + start, 2), start + "safetensors\n");
  EXPECT_EQ(completed("ringside checkpoint --wei", 2), "--weights\n");
}

bool is_there(const std::string& program) {
  return run_process({"/bin/sh", "-c", "command -v " + program}, {}).status == 0;
}

/// With the tested program first on the path, and a home directory of its own.
ProcessOptions in_a_home(const ScratchDirectory& home) {
  const std::filesystem::path directory = std::filesystem::path(RINGSIDE_PROGRAM).parent_path();
  const char* path = std::getenv("PATH");
  ProcessOptions options;
  options.environment = {{"HOME", home.path()},
                         {"PATH", directory.string() + ":" + (path == nullptr ? "" : path)}};
  return options;
}

// What a Tab behind the line makes of it, in an interactive shell.
TEST(Completion, ZshCompletesCommandsOptionsAndValues) {
  if (!is_there("zsh")) GTEST_SKIP() << "zsh is not installed";
  const ScratchDirectory home;
  const std::string tab = RINGSIDE_TEST_DATA_DIR "/cli/completion.zsh";
  const auto completed = [&](const std::string& line) {
    const ProcessResult result =
        run_process({"/usr/bin/env", "zsh", "-f", tab, line}, in_a_home(home));
    return result.output + result.errors;
  };
  EXPECT_EQ(completed("ringside dem"), "ringside demo \n");
  EXPECT_EQ(completed("ringside run --bat"), "ringside run --batch-size \n");
  EXPECT_EQ(completed("ringside run --algorithm hal"),
            "ringside run --algorithm halving-doubling \n");
  EXPECT_EQ(completed("ringside collective all-r"), "ringside collective all-reduce \n");
  EXPECT_EQ(completed("ringside collective all-reduce --dir"),
            "ringside collective all-reduce --direction \n");
  EXPECT_EQ(completed("ringside completion z"), "ringside completion zsh \n");
  EXPECT_EQ(completed("ringside help dr"), "ringside help draw \n");
}

TEST(Completion, ZshFindsItInstalled) {
  if (!is_there("zsh")) GTEST_SKIP() << "zsh is not installed";
  const ScratchDirectory home;
  std::ofstream(home / "_ringside") << run_ringside({"completion", "zsh"}).output;
  const std::string tab = RINGSIDE_TEST_DATA_DIR "/cli/completion.zsh";
  const ProcessResult result =
      run_process({"/usr/bin/env", "zsh", "-f", tab, "ringside dem", home.path()}, in_a_home(home));
  EXPECT_EQ(result.output + result.errors, "ringside demo \n");
}

TEST(Completion, FishCompletesCommandsOptionsAndValues) {
  if (!is_there("fish")) GTEST_SKIP() << "fish is not installed";
  const ScratchDirectory home;
  const auto completed = [&](const std::string& line) {
    const ProcessResult result = run_process({"/usr/bin/env", "fish", "-c",
                                              "ringside completion fish | source; complete -C '" +
                                                  line + "' | string replace -r '\\t.*' ''"},
                                             in_a_home(home));
    return result.output + result.errors;
  };
  EXPECT_EQ(completed("ringside dem"), "demo\n");
  EXPECT_EQ(completed("ringside run --bat"), "--batch-size\n");
  EXPECT_EQ(completed("ringside run --strategy d"), "ddp\ndp\n");
  EXPECT_EQ(completed("ringside collective all-"), "all-gather\nall-reduce\nall-to-all\n");
  EXPECT_EQ(completed("ringside run --lr "), "");
  EXPECT_EQ(completed("ringside completion z"), "zsh\n");
  EXPECT_EQ(completed("ringside help dr"), "draw\n");
}

}  // namespace
}  // namespace ringside::test
