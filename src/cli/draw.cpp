// ringside draw: pictures from a trace file.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/draw_document.h"
#include "cli/pictures.h"
#include "cli/terminal.h"
#include "core/files.h"
#include "ringside/error.h"
#include "ringside/trace.h"
#include "scenario/values.h"
#include "views/text.h"

namespace ringside::cli {
namespace {

constexpr std::int64_t kMaxStep = 2'147'483'647;

std::vector<Option> options() {
  return {
      {"trace", "FILE", "a trace that 'ringside run --trace' wrote", "Pictures", "FILE"},
      {"out", "DIR", "where the pictures go", "Pictures", "DIR"},
      {"step", "N", "the step; if not given the one that failed, else the last recorded",
       "Pictures"},
      {"phase", "NAME", "only this phase", "Pictures",
       "load scatter-input replicate forward gather-output loss scatter-grad backward reduce-grad "
       "sync-buffers all-reduce finalize pull push aggregate update"},
      {"format", "LIST", "dot, svg, png, or several: dot,svg (svg)", "Pictures", "dot svg png"},
      {"theme", "NAME", "light or dark", "Pictures", "light dark"},
  };
}

std::string required(const Arguments& arguments, const char* name, const char* value) {
  std::string text = arguments.value(name);
  if (!text.empty()) return text;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("draw: --{} {} is needed", name, value),
              "such as: ringside draw --trace trace.json --out pictures");
}

std::string place_of_failure(const Trace& trace) {
  const int step = trace.run.failed_step;
  return step < 0 ? "behind its last step" : fmt::format("in step {}", step);
}

int step_of(const Arguments& arguments, const Trace& trace, const std::string& path) {
  const std::vector<int> steps = trace.steps();
  if (steps.empty() && !trace.run.failure.empty()) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: the run failed before a step was recorded: {}", path,
                            clean_text(trace.run.failure)),
                fmt::format("it failed {}; --trace-steps of 'ringside run' says which steps are "
                            "recorded",
                            place_of_failure(trace)));
  }
  if (steps.empty()) {
    throw Error(ErrorKind::kInvalidInput, fmt::format("{}: the trace has no steps", path),
                "record some: ringside run --trace FILE --trace-steps 0-2");
  }
  if (!arguments.has("step")) return step_of_interest(trace);
  return static_cast<int>(parse_integer("--step", arguments.value("step"), 0, kMaxStep));
}

// What only drawing finds wrong with a trace is told with its file too.
std::vector<Picture> pictures_of(const Trace& trace, int step, const std::string& path,
                                 const std::string& phase, const DrawOptions& options) {
  try {
    return draw_step(trace, step, phase, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInvalidInput) throw;
    throw error.with_prefix(fmt::format("{}: ", path));
  }
}

int run(const Arguments& arguments, Terminal& terminal) {
  const std::string path = required(arguments, "trace", "FILE");
  const std::string directory = required(arguments, "out", "DIR");
  const std::vector<std::string> formats = parse_formats(arguments.value("format"));
  const std::string phase = arguments.value("phase");
  if (arguments.has("phase") && phase.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "--phase '': names no phase",
                "leave --phase out to draw the whole step");
  }
  DrawOptions draw_options;
  draw_options.theme = parse_theme(arguments.value("theme", "light"));

  terminal.progress(fmt::format("reading {}", path));
  const Trace trace = trace_from_json(read_whole_file(path), path);
  const int step = step_of(arguments, trace, path);
  terminal.progress("drawing");
  const std::vector<Picture> pictures = pictures_of(trace, step, path, phase, draw_options);
  make_directory(directory);
  const std::vector<std::string> files = save_pictures(pictures, directory, formats, terminal);
  if (terminal.json()) {
    terminal.emit(draw_document(trace, step, pictures, files));
    return 0;
  }
  terminal.print("Step {} of {} on {}:\n", step, trace.run.strategy,
                 counted(static_cast<std::size_t>(trace.run.devices), "device"));
  if (!trace.run.failure.empty()) {
    terminal.print("The run failed {}: {}\n", place_of_failure(trace),
                   clean_text(trace.run.failure));
  }
  for (const Picture& picture : pictures) {
    terminal.print("  {}: {}\n", picture.name, picture.caption);
  }
  terminal.print("Wrote {} to {}\n", counted(files.size(), "file"), directory);
  return 0;
}

}  // namespace

Command draw_command() {
  return {
      .name = "draw",
      .summary = "draw the steps of a recorded run",
      .operands = "",
      .operand_choices = "",
      .description =
          "Draws a recorded step: the whole step and one picture per phase; for ddp also its "
          "buckets. "
          "For ddp and ps there is the timeline too, replayed with constant rates; not of an "
          "asynchronous ps, whose steps overlap. Its pushes are pictures of their own.",
      .examples =
          "ringside draw --trace trace.json --out pictures\n"
          "ringside draw --trace trace.json --out pictures --step 1 --format svg,png\n"
          "ringside draw --trace trace.json --out pictures --phase replicate --theme dark",
      .options = options,
      .run = run,
  };
}

}  // namespace ringside::cli
