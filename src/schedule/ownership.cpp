#include "schedule/ownership.h"

namespace ringside::schedule {

Range input_range(const Schedule& schedule, int rank) {
  const bool is_root = rank == schedule.request.root;
  const Range all{0, schedule.elements};
  switch (schedule.request.operation) {
    case Operation::kAllGather:
    case Operation::kGather:
      return schedule.blocks[static_cast<std::size_t>(rank)];
    case Operation::kAllToAll: {
      const std::size_t own = schedule.elements / static_cast<std::size_t>(schedule.request.ranks);
      return {static_cast<std::size_t>(rank) * own, static_cast<std::size_t>(rank + 1) * own};
    }
    case Operation::kBroadcast:
    case Operation::kScatter:
    case Operation::kSend:
    case Operation::kRecv:
      return is_root ? all : Range{};
    case Operation::kReduce:
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
    case Operation::kBarrier:
      break;
  }
  return all;
}

Range output_range(const Schedule& schedule, int rank) {
  const bool is_root = rank == schedule.request.root;
  const Range all{0, schedule.elements};
  switch (schedule.request.operation) {
    case Operation::kScatter:
    case Operation::kReduceScatter:
      return schedule.blocks[static_cast<std::size_t>(rank)];
    case Operation::kReduce:
    case Operation::kGather:
      return is_root ? all : Range{};
    case Operation::kSend:
    case Operation::kRecv:
      return rank == schedule.request.peer ? all : Range{};
    case Operation::kAllToAll:
      return {};
    case Operation::kBroadcast:
    case Operation::kAllReduce:
    case Operation::kAllGather:
    case Operation::kBarrier:
      break;
  }
  return all;
}

std::vector<Range> output_ranges(const Schedule& schedule, int rank) {
  if (schedule.request.operation != Operation::kAllToAll) return {output_range(schedule, rank)};
  const auto ranks = static_cast<std::size_t>(schedule.request.ranks);
  std::vector<Range> ranges;
  for (std::size_t source = 0; source < ranks; ++source) {
    ranges.push_back(schedule.blocks[source * ranks + static_cast<std::size_t>(rank)]);
  }
  return ranges;
}

}  // namespace ringside::schedule
