// Bodies of collective_run.h.
#include "cli/collective_run.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "ringside/comm.h"
#include "ringside/error.h"
#include "ringside/tensor.h"
#include "ringside/world.h"
#include "schedule/ownership.h"

namespace ringside::cli {
namespace {

using schedule::Stage;
using schedule::StageKind;
using schedule::Values;

std::string label_of(const Stage& stage, int ranks) {
  switch (stage.kind) {
    case StageKind::kInput:
      return "input";
    case StageKind::kScaled:
      return fmt::format("times 1/{}", ranks);
    case StageKind::kRound:
      return fmt::format("round {}", stage.round + 1);
    case StageKind::kDivided:
      break;
  }
  return fmt::format("divided by {}", ranks);
}

Holding holding_of(const Values& values) {
  Holding holding;
  double squares = 0;
  for (const std::optional<double>& value : values) {
    if (!value) continue;
    ++holding.held;
    squares += *value * *value;
  }
  holding.norm = std::sqrt(squares);
  if (values.size() <= kMaxShownElements) holding.values = values;
  return holding;
}

StageRecord record_of(const Stage& stage, int ranks) {
  StageRecord record{label_of(stage, ranks), {}};
  record.ranks.reserve(stage.values.size());
  for (const Values& values : stage.values) record.ranks.push_back(holding_of(values));
  return record;
}

// One rank's arrays: what it brings in and what it takes out, apart from each other.
struct RankBuffers {
  Tensor send;
  Tensor recv;
};

Tensor make_array(Device& device, DType dtype, Range range,
                  const std::function<double(std::size_t)>& value) {
  std::vector<double> values(range.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(range.begin + i);
  return Tensor::from_host(device, Shape{static_cast<std::int64_t>(range.size())}, dtype, values,
                           MemoryKind::kWorkspace);
}

// As large as the rank's recv.
Range result_range(const Schedule& schedule, int rank) {
  std::size_t size = 0;
  for (const Range range : schedule::output_ranges(schedule, rank)) size += range.size();
  return {0, size};
}

// The call of `rank`; none where the rank takes no part (others than the pair of a send).
std::optional<CollectiveCall> call_of(const ScheduleRequest& request, ReduceOp op, int rank,
                                      const RankBuffers& buffers) {
  CollectiveCall call;
  call.operation = request.operation;
  call.algorithm = request.algorithm;
  call.count = request.count;
  call.counts = request.counts;
  call.dtype = request.dtype;
  call.op = op;
  call.root = request.root;
  if (request.operation == Operation::kSend) {
    if (rank != request.root && rank != request.peer) return std::nullopt;
    const bool sends = rank == request.root;
    call.operation = sends ? Operation::kSend : Operation::kRecv;
    call.algorithm = Algorithm::kAutomatic;
    call.peer = sends ? request.peer : request.root;
    call.root = 0;
    (sends ? call.send : call.recv) = sends ? buffers.send.array() : buffers.recv.array();
    return call;
  }
  if (buffers.send.numel() > 0) call.send = buffers.send.array();
  if (buffers.recv.numel() > 0) call.recv = buffers.recv.array();
  return call;
}

// Runs the collective on simulated devices and returns what each rank takes out.
std::vector<std::vector<double>> execute(const Schedule& schedule, ReduceOp op) {
  const ScheduleRequest& request = schedule.request;
  WorldOptions options;
  options.size = request.ranks;
  options.stepwise_collectives = true;
  const std::unique_ptr<World> world = open_world("sim", options);
  std::vector<std::vector<double>> results(static_cast<std::size_t>(request.ranks));
  world->drive([&] {
    std::vector<RankBuffers> buffers;
    for (int rank = 0; rank < request.ranks; ++rank) {
      Device& device = world->device(rank);
      world->communicator(rank).set_defaults({Algorithm::kAutomatic, request.direction,
                                              request.border, request.pieces, request.node_size});
      buffers.push_back(
          {make_array(device, request.dtype, schedule::input_range(schedule, rank),
                      [&](std::size_t i) { return input_value(schedule, op, rank, i); }),
           make_array(device, request.dtype, result_range(schedule, rank),
                      [](std::size_t) { return 0.0; })});
    }
    {
      GroupScope group(world->local_communicators());
      for (int rank = 0; rank < request.ranks; ++rank) {
        const auto call = call_of(request, op, rank, buffers[static_cast<std::size_t>(rank)]);
        if (call) world->communicator(rank).call(*call, world->device(rank).compute());
      }
      group.end();
    }
    for (int rank = 0; rank < request.ranks; ++rank) {
      results[static_cast<std::size_t>(rank)] =
          host_values(buffers[static_cast<std::size_t>(rank)].recv);
    }
  });
  return results;
}

void compare(const Schedule& schedule, const std::vector<Values>& expected,
             const std::vector<std::vector<double>>& results) {
  for (int rank = 0; rank < schedule.request.ranks; ++rank) {
    std::size_t place = 0;
    for (const Range out : schedule::output_ranges(schedule, rank)) {
      for (std::size_t i = out.begin; i < out.end; ++i, ++place) {
        const double result = results[static_cast<std::size_t>(rank)][place];
        const auto& value = expected[static_cast<std::size_t>(rank)][i];
        if (value && *value == result) continue;
        throw Error(ErrorKind::kDevice,
                    fmt::format("rank {}, element {}: the simulated devices computed {}, the "
                                "schedule says {}",
                                rank, i, result, value.value_or(0)),
                    "this is a fault of Ringside: please report it with the command you gave");
      }
    }
  }
}

}  // namespace

double input_value(int rank, std::size_t element, std::size_t elements) {
  if (elements <= 1) return rank + 1;
  if (elements <= 10) return 10.0 * (rank + 1) + static_cast<double>(element);
  if (elements <= 100) return 100.0 * (rank + 1) + static_cast<double>(element);
  return 10.0 * (rank + 1) + static_cast<double>(element % 10);
}

double input_value(const Schedule& schedule, ReduceOp op, int rank, std::size_t element) {
  if (combines(schedule.request.operation) && op == ReduceOp::kProd) {
    return 1 + static_cast<double>((static_cast<std::size_t>(rank) + element) % 2);
  }
  const double value = input_value(rank, element, schedule.elements);
  return size_of(schedule.request.dtype) >= 4 ? value : std::fmod(value, 100);
}

CollectiveRun run_collective(const ScheduleRequest& request, ReduceOp op) {
  if (request.ranks > kMaxRanks) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--ranks {}: must be at most {}: each is a simulated device of its own",
                            request.ranks, kMaxRanks));
  }
  CollectiveRun run;
  run.schedule = make_schedule(request);
  run.op = op;
  run.cost = count_cost(run.schedule);
  run.closed = closed_form(run.schedule);

  const auto ranks = static_cast<std::size_t>(request.ranks);
  run.executed = run.schedule.elements <= kMaxValues / ranks;
  if (!run.executed) return run;
  const std::size_t last = run.schedule.rounds.size();
  const bool every_round = (last + 1) * ranks * run.schedule.elements <= 8 * kMaxValues;
  const std::vector<Values> values = schedule::simulate(
      run.schedule, op,
      [&](int rank, std::size_t i) { return input_value(run.schedule, op, rank, i); },
      [&](const Stage& stage) {
        if (stage.kind != StageKind::kRound || every_round || stage.round + 1 == last) {
          run.stages.push_back(record_of(stage, request.ranks));
        }
      });
  compare(run.schedule, values, execute(run.schedule, op));
  return run;
}

}  // namespace ringside::cli
