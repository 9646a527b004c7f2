// Wrong use and bad input: exit status 2 (or 1), one clear message, a hint; with --json a document.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/bad_uses.h"
#include "cli/command.h"
#include "cli/subprocess.h"

namespace ringside::test {
namespace {

using Words = std::vector<std::string>;

std::vector<BadUse> all_bad_uses() {
  std::vector<BadUse> uses = bad_uses();
  for (BadUse& use : bad_uses_of_run()) uses.push_back(std::move(use));
  return uses;
}

TEST(Usage, BadUseIsToldInOneLineWithAHint) {
  for (const BadUse& use : all_bad_uses()) {
    const ProcessResult result = run_ringside(use.arguments);
    SCOPED_TRACE(result.command + "\n" + result.errors);
    EXPECT_EQ(result.status, use.status);
    EXPECT_EQ(result.output, "");
    EXPECT_TRUE(result.errors.starts_with("ringside: error: " + use.message));
    if (!use.hint.empty()) {
      const std::size_t at = result.errors.find("\nhint: ");
      ASSERT_NE(at, std::string::npos);
      EXPECT_NE(result.errors.find(use.hint, at), std::string::npos);
    }
  }
}

TEST(Usage, WithJsonTheErrorIsADocumentToo) {
  for (const BadUse& use : all_bad_uses()) {
    if (use.arguments.empty()) continue;
    Words arguments = use.arguments;
    arguments.emplace_back("--json");
    const ProcessResult result = run_ringside(arguments);
    SCOPED_TRACE(result.command + "\n" + result.output + result.errors);
    EXPECT_EQ(result.status, use.status);
    const auto document = nlohmann::json::parse(result.output, nullptr, false);
    ASSERT_TRUE(document.is_object());
    EXPECT_EQ(document["ringside"], "error");
    EXPECT_EQ(document["version"], 1);
    EXPECT_EQ(document["exit_status"], use.status);
    EXPECT_TRUE(document["message"].is_string());
    EXPECT_TRUE(document["hint"].is_string());
    EXPECT_TRUE(document["kind"].is_string());
  }
}

TEST(Usage, StandardErrorThatCannotBeWrittenChangesNothingElse) {
  const std::string command = RINGSIDE_PROGRAM " run --nonsense --json ";
  for (const char* closed : {"2>/dev/full", "2>&-"}) {
    const ProcessResult result = run_process({"/bin/sh", "-c", command + closed}, {});
    EXPECT_EQ(result.status, 2) << closed;
    EXPECT_NE(result.output.find("unknown option --nonsense"), std::string::npos) << closed;
  }
}

TEST(Usage, HelpAndVersion) {
  for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"help"}}) {
    const ProcessResult result = run_ringside(words);
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.output.find("Commands:\n  run "), std::string::npos) << result.output;
    EXPECT_EQ(result.errors, "");
  }
  for (const cli::Command& each : cli::commands()) {
    const std::string command(each.name);
    const ProcessResult result = run_ringside({command, "--help"});
    EXPECT_EQ(result.status, 0);
    EXPECT_TRUE(result.output.starts_with("Usage: ringside " + command));
    EXPECT_NE(result.output.find("\nExamples:\n  "), std::string::npos) << result.output;
    EXPECT_NE(result.output.find("--json"), std::string::npos);
    EXPECT_EQ(run_ringside({"help", command}).output, result.output);
    // --help wins over whatever else is there, as a person who asks for help expects.
    EXPECT_EQ(run_ringside({command, "--nonsense", "--help"}).output, result.output);
  }
  const ProcessResult version = run_ringside({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_TRUE(version.output.starts_with("ringside 0.")) << version.output;
  for (const Words& words : {Words{"--version", "--nonsense"}, Words{"help", "run", "twice"}}) {
    const ProcessResult refused = run_ringside(words);
    EXPECT_EQ(refused.status, 2);
    EXPECT_NE(refused.errors.find("'" + words.back() + "' has no meaning"), std::string::npos)
        << refused.errors;
  }
}

TEST(Usage, ColourOnlyWhereItIsWanted) {
  const std::string escape = "\x1b[";
  EXPECT_EQ(run_ringside({"--help"}).output.find(escape), std::string::npos);
  EXPECT_EQ(run_ringside({"doctor"}).output.find(escape), std::string::npos);
  EXPECT_NE(run_ringside({"doctor", "--color", "always"}).output.find(escape), std::string::npos);
  EXPECT_EQ(run_ringside({"doctor", "--color", "never"}).output.find(escape), std::string::npos);
}

// Not in every container.
bool has_pseudo_terminals() {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal >= 0) ::close(terminal);
  return terminal >= 0;
}

// What the program writes when a terminal listens; script(1) is one.
std::string on_terminal(const std::string& arguments,
                        std::vector<std::pair<std::string, std::string>> environment) {
  ProcessOptions options;
  options.environment = std::move(environment);
  const std::string command = RINGSIDE_PROGRAM " " + arguments;
  const ProcessResult result =
      run_process({"/usr/bin/script", "-qec", command, "/dev/null"}, options);
  EXPECT_EQ(result.status, 0) << result.command << result.output << result.errors;
  return result.output;
}

TEST(Usage, ATerminalSeesColourAndProgressUnlessItSaysNo) {
  if (!std::filesystem::exists("/usr/bin/script")) GTEST_SKIP() << "no script(1) on this system";
  if (!has_pseudo_terminals()) GTEST_SKIP() << "no pseudo-terminals here (/dev/pts)";
  const std::string green = "\x1b[32m";
  const std::string progress = "step 1 of 4, loss ";
  const std::string run = "run --steps 4 --batch-size 8";
  const std::pair<std::string, std::string> terminal{"TERM", "xterm"};
  EXPECT_NE(on_terminal("doctor", {terminal}).find(green), std::string::npos);
  EXPECT_EQ(on_terminal("doctor", {terminal, {"NO_COLOR", "1"}}).find(green), std::string::npos);
  EXPECT_EQ(on_terminal("doctor", {{"TERM", "dumb"}}).find(green), std::string::npos);
  EXPECT_NE(on_terminal(run, {terminal}).find(progress), std::string::npos);
  EXPECT_EQ(on_terminal(run, {{"TERM", "dumb"}}).find(progress), std::string::npos);
  EXPECT_EQ(on_terminal(run + " --quiet", {terminal}), "");
}

}  // namespace
}  // namespace ringside::test
