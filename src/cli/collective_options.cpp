#include "cli/collective_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "cli/collective_run.h"
#include "core/nearest_name.h"
#include "ringside/error.h"
#include "scenario/values.h"
#include "schedule/request.h"

namespace ringside::cli {
namespace {

constexpr auto kOptions = std::to_array<Option>({
    {"algorithm", "NAME",
     "auto, ring, star, tree, chain, double-tree, halving-doubling, hierarchical or direct",
     "Collective", "auto ring star tree chain double-tree halving-doubling hierarchical direct"},
    {"op", "NAME", "sum, avg, min, max or prod", "Collective", "sum avg min max prod"},
    {"dtype", "TYPE", "float32, float64, float16, bfloat16, int32, int64 or uint8", "Collective",
     "float32 float64 float16 bfloat16 int32 int64 uint8"},
    {"direction", "NAME", "of rings: up (rank i sends to i+1) or down", "Collective", "up down"},
    {"pieces", "K", "pieces of a chain or double tree that follow each other (1)", "Collective"},
    {"node-size", "P", "ranks per node, for hierarchical (a divisor of about the square root)",
     "Collective"},
});

bool is_pipelined(const ScheduleRequest& request) {
  const bool one_way =
      request.operation == Operation::kBroadcast || request.operation == Operation::kReduce;
  return request.algorithm == Algorithm::kChain || request.algorithm == Algorithm::kDoubleTree ||
         (one_way &&
          (request.algorithm == Algorithm::kRing || request.algorithm == Algorithm::kAutomatic));
}

}  // namespace

Option collective_option(std::string_view name) {
  return *std::find_if(kOptions.begin(), kOptions.end(),
                       [&](const Option& option) { return option.name == name; });
}

Operation operation_of(const Arguments& arguments, std::string_view command,
                       std::span<const std::string_view> names) {
  if (arguments.operands.empty()) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: no operation is given", command),
                fmt::format("such as: ringside {} all-reduce", command));
  }
  const std::string& name = arguments.operands.front();
  try {
    const Operation operation = parse_operation(name);
    return operation == Operation::kRecv ? Operation::kSend : operation;  // the same pair
  } catch (const Error& error) {
    const std::string nearest = nearest_name(name, names);
    throw Error(error.kind(), error.what(),
                nearest.empty() ? error.hint() : fmt::format("did you mean {}?", nearest));
  }
}

int int_of(const Arguments& arguments, std::string_view name, std::string_view fallback,
           std::int64_t minimum, std::int64_t maximum) {
  return static_cast<int>(
      parse_integer(fmt::format("--{}", name), arguments.value(name, fallback), minimum, maximum));
}

void check_has_meaning(const Arguments& arguments, std::string_view option, Operation operation,
                       bool has_meaning) {
  if (!arguments.has(option) || has_meaning) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("--{}: {} has none", option, to_string(operation)),
              fmt::format("leave --{} out", option));
}

void check_operation_options(const Arguments& arguments, Operation operation) {
  check_has_meaning(arguments, "op", operation, combines(operation));
  check_has_meaning(arguments, "pieces", operation,
                    operation == Operation::kBroadcast || operation == Operation::kReduce ||
                        operation == Operation::kAllReduce);
}

void set_algorithm(ScheduleRequest& request, const Arguments& arguments, std::string_view border) {
  request.algorithm = parse_algorithm(arguments.value("algorithm", "auto"));
  request.direction = parse_direction(arguments.value("direction", "up"));
  request.border = parse_border(arguments.value("border", border));
  request.pieces = int_of(arguments, "pieces", "1", 1, 4096);
  request.node_size = int_of(arguments, "node-size", "0", 0, kMaxRanks);
}

void check_algorithm_options(const Arguments& arguments, const ScheduleRequest& request) {
  const Algorithm algorithm = schedule::chosen_algorithm(request);
  const auto refuse = [&](std::string_view option, bool has_meaning, std::string_view who) {
    if (!arguments.has(option) || has_meaning) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--{}: {} with algorithm {} has none", option,
                            to_string(request.operation), to_string(algorithm)),
                std::string(who));
  };
  refuse("pieces", is_pipelined(request),
         "chain and double-tree have pieces, and the ring's broadcast and reduce");
  refuse("node-size", algorithm == Algorithm::kHierarchical,
         "only --algorithm hierarchical has nodes");
  refuse("direction", algorithm == Algorithm::kRing || algorithm == Algorithm::kChain,
         "only rings and chains go up or down");
  refuse("border", algorithm == Algorithm::kRing && request.operation == Operation::kAllReduce,
         "only the ring's all-reduce cuts its buffer at borders of its own");
}

}  // namespace ringside::cli
