// ringside demo: one device, DataParallel and DistributedDataParallel side by side.
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/demo_report.h"
#include "cli/demo_runs.h"
#include "cli/pictures.h"
#include "cli/terminal.h"
#include "core/files.h"
#include "ringside/error.h"
#include "ringside/trace.h"

namespace ringside::cli {
namespace {

constexpr const char* kDefaultDirectory = "ringside-demo";

std::vector<Option> options() {
  return {{"out", "DIR", "where pictures and traces go (./ringside-demo)", "Results", "DIR"}};
}

// Pictures of one strategy carry its name, so that both fit into one directory.
std::vector<Picture> pictures_of(const DemoRun& run) {
  std::vector<Picture> pictures = draw_step(run.trace, kDemoStep, "", {});
  for (Picture& picture : pictures) {
    picture.name = fmt::format("{}-{}", run.report.scenario.strategy, picture.name);
  }
  return pictures;
}

std::vector<std::string> write_results(const std::vector<DemoRun>& runs,
                                       const std::string& directory, Terminal& terminal) {
  std::vector<Picture> pictures;
  std::vector<std::string> files;
  for (const DemoRun& run : runs) {
    if (run.report.scenario.strategy == "single") continue;
    terminal.progress(fmt::format("drawing step {} of {}", kDemoStep, run.name));
    const std::vector<Picture> own = pictures_of(run);
    pictures.insert(pictures.end(), own.begin(), own.end());
    files.push_back((std::filesystem::path(directory) /
                     fmt::format("{}-trace.json", run.report.scenario.strategy))
                        .string());
    write_trace(run.trace, files.back());
  }
  const std::vector<std::string> written =
      save_pictures(pictures, directory, parse_formats(""), terminal);
  files.insert(files.end(), written.begin(), written.end());
  terminal.clear_progress();
  return files;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const std::string directory = arguments.value("out", kDefaultDirectory);
  make_directory(directory);
  const std::vector<DemoRun> runs =
      run_demo([&](const std::string& text) { terminal.progress(text); });
  terminal.clear_progress();
  const DemoVerdict verdict = judge(runs);
  const std::vector<std::string> files = write_results(runs, directory, terminal);
  if (terminal.json()) {
    terminal.emit(demo_document(runs, verdict, files));
  } else {
    terminal.say(demo_text(runs, verdict));
    terminal.print("Pictures of step {} and the traces are in {} ({} files).\n\n{}", kDemoStep,
                   directory, files.size(), demo_next_steps(arguments.program, directory));
  }
  for (const std::string& failure : verdict.failures) terminal.warn("demo: " + failure);
  return verdict.failures.empty() ? 0 : 1;
}

}  // namespace

Command demo_command() {
  return {
      .name = "demo",
      .summary = "train the digits three ways, compare, and draw a step of each",
      .operands = "",
      .operand_choices = "",
      .description =
          "Trains a small network on handwritten digits on one device, with DataParallel on four "
          "and with DistributedDataParallel on four, shows that the losses are the same, what one "
          "step of each sends, and draws it. The exit status is 1 if the losses differ.",
      .examples = "ringside demo\nringside demo --out pictures\nringside demo --json --quiet",
      .options = options,
      .run = run,
  };
}

}  // namespace ringside::cli
