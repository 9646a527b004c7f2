// ringside run: trains as a scenario says, and writes what is asked for.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/commands.h"
#include "cli/kept_error.h"
#include "cli/pictures.h"
#include "cli/result_places.h"
#include "cli/run_report.h"
#include "cli/terminal.h"
#include "core/counted.h"
#include "core/files.h"
#include "ringside/error.h"
#include "ringside/trace.h"
#include "scenario/options.h"

namespace ringside::cli {
namespace {

std::vector<Option> options() {
  std::vector<Option> result{{"config", "FILE",
                              "a scenario file (docs/scenario.md); options given here override it",
                              "What to run", "FILE"}};
  for (const ScenarioOption& option : scenario_options()) {
    result.push_back({option.name, option.value, option.help, option.heading, option.choices});
  }
  return result;
}

// Runs `body`; its errors name the option as it was typed.
template <typename Body>
void as_option(Body body) {
  try {
    body();
  } catch (const Error& error) {
    throw error.with_prefix("--");
  }
}

RunRequest request_of(const Arguments& arguments) {
  RunRequest request;
  if (arguments.has("config")) read_scenario_file(arguments.value("config"), request);
  // Of the two that exclude each other, the one given here overrides the file's.
  if (arguments.has("steps")) request.scenario.epochs.reset();
  if (arguments.has("epochs")) request.scenario.steps.reset();

  std::vector<const ScenarioOption*> given;
  for (const auto& [name, value] : arguments.options) {
    const ScenarioOption* option = find_scenario_option(name);
    if (option == nullptr) continue;
    as_option([&, &text = value] { set_option(request, *option, text); });
    given.push_back(option);
  }
  for (const ScenarioOption* option : given) {
    as_option([&] { check_option(request.scenario, *option); });
  }
  complete_request(request);
  return request;
}

[[noreturn]] void throw_nothing_recorded(const RunRequest& request, int steps) {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("trace-steps {}-{}: the run has {}, counted from 0: none is recorded",
                          request.first_step, request.last_step,
                          counted(static_cast<std::size_t>(steps), "step")),
              "choose steps that the run has");
}

// What a run's observers write, on the ranks' threads.
class RunNarrator {
 public:
  RunNarrator(const RunRequest& request, bool records, Terminal& terminal)
      : request_(request), records_(records), terminal_(terminal) {}

  // Only rank 0's process hears of steps and epochs, so that only one speaks.
  RunObserver observer() {
    RunObserver observer;
    observer.step = [this](int step, int total, double loss) {
      error_.keep([&] {
        // Now, and not when the training is over.
        if (records_ && request_.first_step >= total) throw_nothing_recorded(request_, total);
        if (records_ && !has_stepped_) check_recorded_from(step - 1);
        has_stepped_ = true;
        terminal_.progress(fmt::format("step {} of {}, loss {:.4f}", step, total, loss));
      });
    };
    observer.warning = [this](const std::string& text) {
      error_.keep([&] { terminal_.warn(text); });
    };
    observer.epoch = [this](const EpochReport& epoch) {
      error_.keep([&] {
        if (!said_heading_) terminal_.say(run_heading(request_.scenario) + epoch_heading());
        said_heading_ = true;  // a resumed run begins with another epoch than 0
        terminal_.say(epoch_line(epoch));
      });
    };
    return observer;
  }

  bool has_error() const { return error_.has(); }
  /// Throws the observers' own error, if there was one.
  void rethrow() const { error_.rethrow(); }

 private:
  // A resumed run begins after the steps that are recorded unless others are asked for.
  void check_recorded_from(int first) const {
    if (first <= request_.last_step) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("trace-steps {}-{}: the run goes on from step {}: none is recorded",
                            request_.first_step, request_.last_step, first),
                fmt::format("add --trace-steps {}-{}", first, first + 2));
  }

  const RunRequest& request_;
  bool records_;
  bool has_stepped_ = false;
  bool said_heading_ = false;
  Terminal& terminal_;
  KeptError error_;
};

RunReport run_and_narrate(const RunRequest& request, Trace* trace, Terminal& terminal) {
  TraceOptions trace_options;
  trace_options.first_step = request.first_step;
  trace_options.last_step = request.last_step;
  RunNarrator narrator(request, trace != nullptr, terminal);
  try {
    RunReport report = run_scenario(request.scenario, trace_options, trace, narrator.observer());
    terminal.clear_progress();
    return report;
  } catch (...) {
    if (trace != nullptr && narrator.has_error()) *trace = {};  // not the run has failed
    narrator.rethrow();
    throw;
  }
}

void check_recorded(const RunRequest& request, const Trace& trace, const RunReport& report) {
  if (trace.steps().empty()) throw_nothing_recorded(request, report.steps);
}

// Writes what --trace and --out ask for; returns the paths, the report's among them.
std::vector<std::string> write_results(const RunRequest& request, const Trace& trace,
                                       const RunReport& report, Terminal& terminal) {
  std::vector<std::string> files = report.saved;
  if (!request.trace.empty()) {
    write_trace(trace, request.trace);
    files.push_back(request.trace);
  }
  if (request.out.empty()) return files;
  const std::filesystem::path directory(request.out);
  const auto path = [&](const char* name) { return (directory / name).string(); };
  terminal.progress("drawing");
  const std::vector<Picture> pictures = draw_step(trace, step_of_interest(trace), "", {});
  const std::vector<std::string> paths =
      save_pictures(pictures, request.out, parse_formats(""), terminal);
  files.insert(files.end(), paths.begin(), paths.end());
  write_trace(trace, path("trace.json"));
  files.push_back(path("trace.json"));
  files.push_back(path("report.json"));
  write_whole_file(files.back(), run_document(report, files));
  return files;
}

// What a failed run leaves: its trace, and pictures of its last recorded step as far as it got. The
// run's own error is what counts, so that one in here is a warning.
void write_what_happened(const RunRequest& request, const Trace& trace, Terminal& terminal) {
  if (trace.run.failure.empty()) return;  // it never began
  if (trace.ops.empty()) {
    terminal.warn("the run failed before anything was recorded: no trace is written");
    return;
  }
  std::string places;
  const auto keep = [&](const std::string& path) {
    write_trace(trace, path);
    places += (places.empty() ? "" : " and ") + path;
  };
  try {
    if (!request.trace.empty()) keep(request.trace);
    if (!request.out.empty()) {
      keep((std::filesystem::path(request.out) / "trace.json").string());
      if (!trace.steps().empty()) {
        save_pictures(draw_step(trace, step_of_interest(trace), "", {}), request.out,
                      parse_formats(""), terminal);
      }
    }
  } catch (const std::exception& error) {
    terminal.warn(error.what());
  }
  if (places.empty()) return;
  terminal.warn(fmt::format("the run failed; what it had done until then is in {}", places));
  const std::vector<int> steps = trace.steps();
  const int failed = trace.run.failed_step;
  if (failed >= 0 && std::find(steps.begin(), steps.end(), failed) == steps.end()) {
    terminal.warn(
        fmt::format("step {}, in which it failed, is not among the recorded ones", failed));
  }
}

RunReport run_or_keep_what_happened(const RunRequest& request, bool records, Trace& trace,
                                    Terminal& terminal) {
  try {
    return run_and_narrate(request, records ? &trace : nullptr, terminal);
  } catch (const std::exception&) {
    terminal.clear_progress();
    write_what_happened(request, trace, terminal);
    throw;
  }
}

int run(const Arguments& arguments, Terminal& terminal) {
  const RunRequest request = request_of(arguments);
  check_result_places(request, arguments.has("config") ? arguments.value("config") : "");
  const bool records = !request.trace.empty() || !request.out.empty();
  Trace trace;
  const RunReport report = run_or_keep_what_happened(request, records, trace, terminal);
  if (!report.primary) return 0;  // mpi: another process speaks for all
  std::vector<std::string> files = report.saved;
  if (records) {
    check_recorded(request, trace, report);
    files = write_results(request, trace, report, terminal);
  }
  if (terminal.json()) {
    terminal.emit(run_document(report, files));
    return 0;
  }
  if (report.epochs.empty()) terminal.say(run_heading(request.scenario));
  terminal.say(run_summary(report));
  if (!report.saved.empty()) {
    terminal.print("\nWrote {}, the last to {}\n", counted(report.saved.size(), "checkpoint"),
                   report.saved.back());
  }
  if (!request.trace.empty()) terminal.print("\nWrote the trace to {}\n", request.trace);
  if (!request.out.empty()) {
    terminal.print("\nWrote pictures, trace.json and report.json to {}\n", request.out);
  }
  return 0;
}

}  // namespace

Command run_command() {
  return {
      .name = "run",
      .summary = "train on simulated devices, GPUs or processes",
      .operands = "",
      .operand_choices = "",
      .description =
          "Trains a model as a scenario says, on simulated devices unless told otherwise, and "
          "reports loss, accuracy, memory and a checksum of the result. With --trace or --out the "
          "first steps are recorded, message by message.",
      .examples =
          "ringside run                                          # ddp on 4 devices, one epoch\n"
          "ringside run --strategy dp --epochs 5 --lr 0.2\n"
          "ringside run --steps 3 --out pictures                 # and draw the last step\n"
          "ringside run --devices 2 --model lenet --data random:600:1x28x28:10 --steps 5\n"
          "ringside run --steps 20 --save a.safetensors           # and go on with --resume\n"
          "ringside run --memory 64kB --model mlp:64,512,10      # out of memory, and why\n"
          "ringside run --config scenarios/slow-rank.toml --json",
      .options = options,
      .run = run,
  };
}

}  // namespace ringside::cli
