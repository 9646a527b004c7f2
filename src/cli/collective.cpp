// ringside collective: one collective, round by round.
#include <fmt/format.h>

#include <algorithm>

#include "cli/collective_options.h"
#include "cli/collective_report.h"
#include "cli/collective_run.h"
#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/pictures.h"
#include "cli/terminal.h"
#include "core/counted.h"
#include "ringside/error.h"
#include "scenario/values.h"

namespace ringside::cli {
namespace {

// Sums over all messages of so many elements still fit 64 bits of bytes.
constexpr std::int64_t kMaxCount = 1'000'000'000'000;

std::vector<std::size_t> counts_of(const Arguments& arguments, int ranks) {
  std::vector<std::size_t> counts;
  if (!arguments.has("counts")) return counts;
  for (const std::int64_t count : parse_integers("--counts", arguments.value("counts"))) {
    check_range("--counts", count, 0, kMaxCount);
    counts.push_back(static_cast<std::size_t>(count));
  }
  if (counts.size() != static_cast<std::size_t>(ranks)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--counts {}: {} for {}", arguments.value("counts"),
                            counted(counts.size(), "count"),
                            counted(static_cast<std::size_t>(ranks), "rank")),
                "give one count per rank");
  }
  return counts;
}

// An option that the operation does not have would be silently without effect.
void check_meaning(const Arguments& arguments, Operation operation) {
  check_operation_options(arguments, operation);
  const bool send = operation == Operation::kSend;
  check_has_meaning(arguments, "root", operation, has_root(operation) || send);
  check_has_meaning(arguments, "peer", operation, send);
  check_has_meaning(arguments, "count", operation, operation != Operation::kBarrier);
  check_has_meaning(arguments, "counts", operation, takes_counts(operation));
  for (const char* option : {"format", "theme"}) {
    if (!arguments.has(option) || arguments.has("draw")) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--{}: nothing is drawn without --draw", option), "add --draw DIR");
  }
  for (const char* option : {"alpha", "beta"}) {
    if (!arguments.has(option) || arguments.flag("explain")) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--{}: nothing is timed without --explain", option), "add --explain");
  }
  if (arguments.has("count") && arguments.has("counts")) {
    throw Error(ErrorKind::kInvalidArgument, "--count and --counts: only one may be given",
                "leave one of them out");
  }
}

// A full buffer of about eight elements, the same number for each rank: few enough to look at.
std::string default_count(const ScheduleRequest& request) {
  if (request.operation == Operation::kBarrier) return "0";
  const int per_rank = std::max(1, 8 / request.ranks);
  return fmt::format("{}", has_blocks(request.operation) ? per_rank : per_rank * request.ranks);
}

Operation operation_of(const Arguments& arguments) {
  static constexpr std::string_view kNames[] = {
      "broadcast",      "scatter",    "gather", "reduce", "all-reduce", "all-gather",
      "reduce-scatter", "all-to-all", "send",   "recv",   "barrier"};
  return operation_of(arguments, "collective", kNames);
}

ScheduleRequest request_of(const Arguments& arguments) {
  ScheduleRequest request;
  request.operation = operation_of(arguments);
  check_meaning(arguments, request.operation);
  request.ranks = int_of(arguments, "ranks", "4", 1, kMaxRanks);
  request.count = static_cast<std::size_t>(
      parse_integer("--count", arguments.value("count", default_count(request)), 0, kMaxCount));
  request.counts = counts_of(arguments, request.ranks);
  request.root = int_of(arguments, "root", "0", 0, request.ranks - 1);
  request.peer = int_of(arguments, "peer", request.ranks > 1 ? "1" : "0", 0, request.ranks - 1);
  request.dtype = parse_dtype(arguments.value("dtype", "float32"));
  set_algorithm(request, arguments, "even");
  if (request.operation == Operation::kSend && request.ranks == 1) {
    throw Error(ErrorKind::kInvalidArgument, "--ranks 1: a send needs two", "raise --ranks");
  }
  check_algorithm_options(arguments, request);
  if (request.operation == Operation::kSend && request.root == request.peer) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--root {} and --peer {}: a rank cannot send to itself", request.root,
                            request.peer),
                "choose another --peer or --root");
  }
  return request;
}

// The texts in the ranks' boxes, per stage; empty where there is nothing to show.
std::vector<std::vector<std::string>> box_texts(const CollectiveRun& run) {
  std::vector<std::vector<std::string>> texts;
  // Pictures are one per round; the scaling and division of avg belong to the stage beside them.
  for (const StageRecord& stage : run.stages) {
    std::vector<std::string> ranks;
    for (const Holding& holding : stage.ranks) ranks.push_back(holding_text(holding));
    const bool replaces = stage.label.starts_with("times") || stage.label.starts_with("divided");
    if (replaces && !texts.empty()) texts.pop_back();
    texts.push_back(std::move(ranks));
  }
  if (texts.size() != run.schedule.rounds.size() + 1) texts.clear();
  return texts;
}

CostModel model_of(const Arguments& arguments) {
  constexpr double kMost = 1e9;
  const auto value_of = [&](const char* name, const char* fallback, bool zero_is_good) {
    const std::string option = fmt::format("--{}", name);
    const double value = parse_number(option, arguments.value(name, fallback));
    if (value >= 0 && value <= kMost && (value > 0 || zero_is_good)) return value;
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} {}: must be {} and at most {:.0f}", option, arguments.value(name, fallback),
                    zero_is_good ? "0 or more" : "above 0", kMost));
  };
  return {value_of("alpha", "5", true) * 1e-6, value_of("beta", "0.1", false) * 1e-9};
}

int explain_only(const Arguments& arguments, const ScheduleRequest& request, Terminal& terminal) {
  if (arguments.has("draw")) {
    throw Error(ErrorKind::kInvalidArgument, "--explain and --draw: only one may be given",
                "leave one of them out");
  }
  const Explanation explanation = explain(request, model_of(arguments));
  if (terminal.json()) {
    terminal.emit(explanation_document(explanation));
  } else {
    terminal.say(explanation_text(explanation));
  }
  return 0;
}

constexpr int kMaxDrawnRounds = 64;

std::vector<std::string> draw(const CollectiveRun& run, const Arguments& arguments,
                              Terminal& terminal) {
  if (!arguments.has("draw")) return {};
  if (run.schedule.rounds.size() > kMaxDrawnRounds) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("--draw: {} rounds are {} pictures; at most {} are drawn",
                    run.schedule.rounds.size(), run.schedule.rounds.size() + 1, kMaxDrawnRounds),
        "take fewer ranks");
  }
  DrawOptions draw_options;
  draw_options.theme = parse_theme(arguments.value("theme", "light"));
  return save_pictures(draw_schedule(run.schedule, run.op, box_texts(run), draw_options),
                       arguments.value("draw"), parse_formats(arguments.value("format")), terminal);
}

std::vector<Option> options() {
  return {
      collective_option("algorithm"),
      {"ranks", "N", "number of ranks (4)", "Collective"},
      {"count", "C",
       "elements, in NCCL's meaning (about 8 in all): of the buffer for broadcast, reduce and "
       "all-reduce, per rank for the others",
       "Collective"},
      {"counts", "A,B,...", "one count per rank, for scatter, gather and all-gather", "Collective"},
      {"root", "R", "rank 0 if not given; for send, who sends", "Collective"},
      {"peer", "R", "for send, who receives (1)", "Collective"},
      collective_option("op"),
      collective_option("dtype"),
      collective_option("direction"),
      {"border", "NAME",
       "how a ring cuts the buffer of an all-reduce: even (default), nccl or gloo", "Collective",
       "even nccl gloo"},
      collective_option("pieces"),
      collective_option("node-size"),
      {"explain", "", "what every algorithm costs, and why; nothing is run", "Costs"},
      {"alpha", "US", "for --explain: microseconds to start a message (5)", "Costs"},
      {"beta", "NS", "for --explain: nanoseconds per byte (0.1, which is 10 GB/s)", "Costs"},
      {"draw", "DIR", "write a picture of every round", "Pictures", "DIR"},
      {"format", "LIST", "dot, svg, png, or several: dot,svg (svg)", "Pictures", "dot svg png"},
      {"theme", "NAME", "light or dark", "Pictures", "light dark"},
  };
}

int run(const Arguments& arguments, Terminal& terminal) {
  const ScheduleRequest request = request_of(arguments);
  const ReduceOp op = parse_reduce_op(arguments.value("op", "sum"));
  if (arguments.flag("explain")) return explain_only(arguments, request, terminal);
  terminal.progress("working out the rounds");
  const CollectiveRun result = run_collective(request, op);
  const std::vector<std::string> pictures = draw(result, arguments, terminal);
  terminal.clear_progress();
  if (terminal.json()) {
    terminal.emit(collective_document(result, pictures));
    return 0;
  }
  terminal.say(collective_text(result));
  if (!pictures.empty()) {
    terminal.print("Wrote {} to {}\n", counted(pictures.size(), "file"), arguments.value("draw"));
  }
  return 0;
}

}  // namespace

Command collective_command() {
  return {
      .name = "collective",
      .summary = "run one collective and show it round by round",
      .operands = "OPERATION",
      .operand_choices =
          "broadcast scatter gather reduce all-reduce all-gather reduce-scatter all-to-all send "
          "recv barrier",
      .description =
          "Runs a collective on simulated devices and shows what every rank holds after each "
          "round, every message, and the cost beside its closed form. OPERATION is broadcast, "
          "scatter, gather, reduce, all-reduce, all-gather, reduce-scatter, all-to-all, send "
          "(recv is the same pair) or barrier. Rank r brings in small numbers: 10(r+1), 10(r+1)+1, "
          "...; r+1 where the buffer "
          "has one element, 100(r+1), 100(r+1)+1, ... where it has more than ten.",
      .examples =
          "ringside collective all-reduce                             # a ring of 4 ranks\n"
          "ringside collective all-reduce --algorithm star --ranks 8  # all through rank 0\n"
          "ringside collective broadcast --root 2 --algorithm tree\n"
          "ringside collective gather --counts 3,3,3,1 --draw pictures\n"
          "ringside collective all-reduce --count 1000000 --json\n"
          "ringside collective all-reduce --count 250000 --ranks 8 --explain",
      .options = options,
      .run = run,
  };
}

}  // namespace ringside::cli
