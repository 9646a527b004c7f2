// ringside bench: times a collective over a range of sizes and verifies it, as nccl-tests does.
#include <fmt/format.h>

#include <cctype>
#include <string>

#include "cli/bench_report.h"
#include "cli/collective_options.h"
#include "cli/collective_run.h"
#include "cli/commands.h"
#include "cli/kept_error.h"
#include "cli/machine_facts.h"
#include "cli/terminal.h"
#include "core/format_bytes.h"
#include "ringside/error.h"
#include "scenario/option_rules.h"
#include "scenario/values.h"

namespace ringside::cli {
namespace {

constexpr int kMaxIterations = 1'000'000;

Operation bench_operation_of(const Arguments& arguments) {
  static constexpr std::string_view kNames[] = {"broadcast",      "scatter",    "gather",
                                                "reduce",         "all-reduce", "all-gather",
                                                "reduce-scatter", "all-to-all", "sendrecv"};
  if (!arguments.operands.empty()) {
    const std::string& name = arguments.operands.front();
    if (name == "sendrecv" || name == "send-recv") return Operation::kSend;
  }
  const Operation operation = operation_of(arguments, "bench", kNames);
  if (operation == Operation::kBarrier) {
    throw Error(ErrorKind::kInvalidArgument, "bench barrier: it moves no data, so it has no size",
                "bench all-reduce --end 8 is about as long");
  }
  return operation;
}

// The project's sizes, and nccl-tests': K, M and G are powers of 1024.
std::size_t size_of_option(const Arguments& arguments, std::string_view name,
                           std::string_view fallback) {
  std::string text = arguments.value(name, fallback);
  const std::size_t letters = text.size();
  const bool short_unit = letters >= 2 &&
                          std::string_view("KkMmGg").find(text.back()) != std::string_view::npos &&
                          std::isdigit(static_cast<unsigned char>(text[letters - 2])) != 0;
  if (short_unit) {
    text.back() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    text += "iB";
  }
  return parse_bytes(fmt::format("--{}", name), text);
}

benchmark::SizeRange range_of(const Arguments& arguments) {
  if (arguments.has("factor") && arguments.has("step")) {
    throw Error(ErrorKind::kInvalidArgument, "--factor and --step: only one may be given",
                "leave one of them out");
  }
  benchmark::SizeRange range;
  range.begin = size_of_option(arguments, "begin", "8");
  range.end = size_of_option(arguments, "end", "64M");
  range.factor = static_cast<std::size_t>(int_of(arguments, "factor", "2", 2, 1'000'000));
  if (arguments.has("step")) range.step = size_of_option(arguments, "step", "");
  return range;
}

std::vector<std::size_t> sizes_as_options(const benchmark::SizeRange& range) {
  try {
    return sizes_of(range);
  } catch (const Error& error) {
    throw error.with_prefix("--");
  }
}

// As far as it can be known before the world is there: mpirun says how many ranks there are.
void check_meaning(const Arguments& arguments, const benchmark::Request& request, int ranks) {
  const Operation operation = request.operation;
  check_operation_options(arguments, operation);
  check_has_meaning(arguments, "root", operation, has_root(operation));
  check_has_meaning(arguments, "algorithm", operation, !is_pair(operation));
  ScheduleRequest schedule;
  schedule.operation = operation;
  schedule.ranks = std::max(ranks, 1);
  set_algorithm(schedule, arguments, to_string(Communicator::Defaults{}.border));
  check_algorithm_options(arguments, schedule);
  if (arguments.flag("in-place") && !benchmark::can_be_in_place(operation)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--in-place: {} cannot be", bench_name(operation)),
                "leave --in-place out");
  }
}

BenchRun run_of(const Arguments& arguments) {
  BenchRun run;
  benchmark::Request& request = run.request;
  request.operation = bench_operation_of(arguments);
  run.backend = arguments.value("backend", "sim");
  option_rules::check_one_of("--backend", run.backend, "sim cuda mpi");
  const Backend& backend = find_backend(run.backend);
  run.ranks = backend.is_launched && !arguments.has("ranks")
                  ? 0
                  : int_of(arguments, "ranks", "4", 1, kMaxRanks);
  check_meaning(arguments, request, run.ranks);
  ScheduleRequest schedule;
  set_algorithm(schedule, arguments, to_string(Communicator::Defaults{}.border));
  request.algorithm = {schedule.algorithm, schedule.direction, schedule.border, schedule.pieces,
                       schedule.node_size};
  request.dtype = parse_dtype(arguments.value("dtype", "float32"));
  request.op = parse_reduce_op(arguments.value("op", "sum"));
  request.root = int_of(arguments, "root", "0", 0, (run.ranks > 0 ? run.ranks : kMaxRanks) - 1);
  run.range = range_of(arguments);
  request.sizes = sizes_as_options(run.range);
  request.iterations = int_of(arguments, "iters", "20", 1, kMaxIterations);
  request.warmup = int_of(arguments, "warmup", "1", 0, kMaxIterations);
  request.check = arguments.value("check", "true") == "true";
  request.in_place = arguments.value("in-place", "true") == "true";
  if (backend.uses_host_memory) request.host_memory = available_memory();
  return run;
}

std::vector<benchmark::Row> measure_and_narrate(World& world, const BenchRun& run,
                                                Terminal& terminal) {
  KeptError kept;
  bool said_heading = false;
  benchmark::Observer observer;
  observer.progress = [&](std::size_t done, const benchmark::Extent& next) {
    kept.keep([&] {
      terminal.progress(fmt::format("size {} of {}: {}", done + 1, run.request.sizes.size(),
                                    format_bytes(next.bytes)));
    });
  };
  observer.row = [&](const benchmark::Row& row) {
    kept.keep([&] {
      if (!said_heading) terminal.say(bench_heading(run));
      said_heading = true;
      terminal.say(bench_line(run, row));
    });
  };
  try {
    std::vector<benchmark::Row> rows = measure(world, run.request, observer);
    terminal.clear_progress();
    return rows;
  } catch (...) {
    terminal.clear_progress();
    kept.rethrow();
    throw;
  }
}

std::vector<Option> options() {
  return {
      {"backend", "NAME", "sim (simulated devices; default), cuda (GPUs) or mpi (processes)",
       "What to run", "sim cuda mpi"},
      {"ranks", "N", "number of ranks (4; mpi: as many as mpirun started)", "What to run"},
      {"begin", "SIZE", "first size: bytes, or with a unit: 4K is 4096, as 4KiB; 4kB is 4000 (8)",
       "Sizes"},
      {"end", "SIZE", "the last size is at most this (64M)", "Sizes"},
      {"factor", "N", "each size is the one before times N (2)", "Sizes"},
      {"step", "SIZE", "or, instead, plus SIZE", "Sizes"},
      {"iters", "N", "timed calls, back to back; the time is their mean (20)", "Measuring"},
      {"warmup", "N", "calls before them (1)", "Measuring"},
      {"in-place", "", "measure calls in place too (on unless =false)", "Measuring"},
      {"check", "", "verify the results of one more call (on unless =false)", "Measuring"},
      {"root", "R", "of broadcast, reduce, scatter and gather (0)", "Collective"},
      collective_option("op"),
      collective_option("dtype"),
      collective_option("algorithm"),
      collective_option("direction"),
      {"border", "NAME",
       "how a ring cuts the buffer of an all-reduce: nccl (default), even or gloo", "Collective",
       "even nccl gloo"},
      collective_option("pieces"),
      collective_option("node-size"),
  };
}

int run(const Arguments& arguments, Terminal& terminal) {
  BenchRun run = run_of(arguments);
  WorldOptions world_options;
  world_options.size = run.ranks;
  const std::unique_ptr<World> world = open_world(run.backend, world_options);
  run.ranks = world->size();
  const std::vector<benchmark::Row> rows = measure_and_narrate(*world, run, terminal);
  const int status = total_wrong(rows) == 0 ? 0 : 1;
  if (world->local_ranks().front() != 0) return status;  // mpi: another process speaks for all
  if (terminal.json()) {
    terminal.emit(bench_document(run, rows));
  } else {
    terminal.say(bench_summary(rows));
  }
  return status;
}

}  // namespace

Command bench_command() {
  return {
      .name = "bench",
      .summary = "time a collective over a range of sizes and verify it",
      .operands = "OPERATION",
      .operand_choices =
          "broadcast scatter gather reduce all-reduce all-gather reduce-scatter all-to-all "
          "sendrecv",
      .description =
          "Times a collective over a range of sizes on simulated devices, GPUs or processes, "
          "verifies every result, and prints the table of nccl-tests: time, algorithm and bus "
          "bandwidth, and wrong elements, out of place and in place. OPERATION is broadcast, "
          "scatter, gather, reduce, all-reduce, all-gather, reduce-scatter, all-to-all or sendrecv "
          "(every rank sends to the next). The exit status is 1 if anything is wrong.",
      .examples =
          "ringside bench all-reduce                               # 4 simulated devices, 8 B to "
          "64 MiB\n"
          "ringside bench all-reduce --algorithm tree --ranks 8 --end 1M\n"
          "ringside bench reduce-scatter --begin 1M --end 5M --step 1M --dtype float64 --op max\n"
          "mpirun -n 4 ringside bench all-gather --backend mpi     # one process per rank\n"
          "ringside bench all-reduce --backend cuda --ranks 8 --end 1G --json",
      .options = options,
      .run = run,
  };
}

}  // namespace ringside::cli
