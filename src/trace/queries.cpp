// Questions to a trace: its steps, the messages of a collective, the table of what moved in a step.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ringside/error.h"
#include "ringside/trace.h"
#include "trace/collective_check.h"
#include "trace/collective_key.h"
#include "trace/copy_route.h"

namespace ringside {
namespace {

// Rows in the order in which they first appear, phases likewise; what has the same phase,
// primitive, source and destination is one row.
class TransferTable {
 public:
  void add(const TransferRow& row) {
    const auto [phase, new_phase] = rows_of_phase_.try_emplace(row.phase);
    if (new_phase) phases_.push_back(row.phase);
    std::vector<TransferRow>& rows = phase->second;
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const TransferRow& other) {
      return std::tie(other.primitive, other.from, other.to) ==
             std::tie(row.primitive, row.from, row.to);
    });
    if (same == rows.end()) {
      rows.push_back(row);
    } else {
      same->messages += row.messages;
      same->bytes += row.bytes;
    }
  }

  std::vector<TransferRow> take() {
    std::vector<TransferRow> all;
    for (const Phase phase : phases_) {
      for (TransferRow& row : rows_of_phase_[phase]) all.push_back(std::move(row));
    }
    return all;
  }

 private:
  std::vector<Phase> phases_;
  std::map<Phase, std::vector<TransferRow>> rows_of_phase_;
};

// "all" for every device of the run, else "0, 2".
std::string name_ranks(std::vector<int> ranks, int devices) {
  if (ranks.size() == static_cast<std::size_t>(devices)) return "all";
  std::sort(ranks.begin(), ranks.end());
  return fmt::format("{}", fmt::join(ranks, ", "));
}

TransferRow collective_row(const TraceOp& op, int devices) {
  const TraceCollective& collective = *op.collective;
  const ScheduleRequest& request = collective.request;
  const auto world_rank = [&](int rank) {
    return std::to_string(collective.world_ranks[static_cast<std::size_t>(rank)]);
  };
  TransferRow row;
  row.phase = op.phase;
  row.primitive = to_string(request.operation);
  row.from = row.to = name_ranks(collective.world_ranks, devices);
  switch (request.operation) {
    case Operation::kBroadcast:
    case Operation::kScatter:
      row.from = world_rank(request.root);
      break;
    case Operation::kGather:
    case Operation::kReduce:
      row.to = world_rank(request.root);
      break;
    case Operation::kSend:
    case Operation::kRecv:
      row.primitive = "send";
      row.from = world_rank(request.root);
      row.to = world_rank(request.peer);
      break;
    case Operation::kAllReduce:
    case Operation::kAllGather:
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
    case Operation::kBarrier:
      break;
  }
  if (op.bucket >= 0) row.primitive += fmt::format(" (bucket {})", op.bucket);
  const std::size_t element = size_of(request.dtype);
  for (const Round& round : expand(collective).rounds) {
    row.messages += round.size();
    for (const Message& message : round) row.bytes += message.range.size() * element;
  }
  return row;
}

TransferRow copy_row(const TraceOp& op) {
  const CopyRoute route = route_of(op);
  TransferRow row;
  row.phase = op.phase;
  row.primitive = "copy";
  row.from = op.peer < 0 ? "host" : std::to_string(op.peer);
  row.to = std::to_string(op.rank);
  if (route == CopyRoute::kToHost || route == CopyRoute::kToDevice) std::swap(row.from, row.to);
  row.messages = 1;
  row.bytes = op.bytes;
  return row;
}

}  // namespace

bool TraceMemory::operator==(const TraceMemory& other) const {
  const auto fields = [](const TraceMemory& memory) {
    const MemoryAccount& all = memory.account;
    return std::tie(memory.step, memory.phase, memory.rank, all.capacity, all.used, all.peak,
                    all.used_by_kind, all.peak_by_kind, all.at_peak);
  };
  return fields(*this) == fields(other);
}

std::vector<int> Trace::steps() const {
  std::set<int> steps;
  for (const TraceOp& op : ops) {
    if (op.step >= 0) steps.insert(op.step);
  }
  return {steps.begin(), steps.end()};
}

Schedule expand(const TraceCollective& collective) {
  if (const std::size_t messages = most_messages(collective.request); messages > kMostMessages) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{} on {} ranks: up to {} messages, at most {} can be listed",
                            to_string(collective.request.operation), collective.request.ranks,
                            messages, kMostMessages));
  }
  Schedule schedule = make_schedule(collective.request);
  for (Round& round : schedule.rounds) {
    for (Message& message : round) {
      message.source = collective.world_ranks[static_cast<std::size_t>(message.source)];
      message.destination = collective.world_ranks[static_cast<std::size_t>(message.destination)];
    }
  }
  return schedule;
}

std::vector<TransferRow> transfers(const Trace& trace, int step) {
  TransferTable table;
  std::set<CollectiveKey> counted;
  for (const TraceOp& op : trace.ops) {
    if (op.step != step) continue;
    if (op.collective) {
      if (!counted.insert(key_of(*op.collective)).second) continue;
      const TransferRow row = collective_row(op, trace.run.devices);
      if (row.messages > 0) table.add(row);
    } else if (op.kind == OpKind::kCopy && route_of(op) != CopyRoute::kOnDevice) {
      table.add(copy_row(op));
    }
  }
  return table.take();
}

}  // namespace ringside
