#include "trace/happened.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "trace/collective_key.h"

namespace ringside {
namespace {

/// The recorded parts of one collective, or the ends of one message.
using Parts = std::vector<std::size_t>;

std::vector<Parts> parts_of_collectives(const std::vector<TraceOp>& ops) {
  std::map<CollectiveKey, Parts> parts;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].collective) parts[key_of(*ops[i].collective)].push_back(i);
  }
  std::vector<Parts> result;
  for (auto& [key, indices] : parts) result.push_back(std::move(indices));
  return result;
}

bool agree(const TraceOp& a, const TraceOp& b) {
  ScheduleRequest request = b.collective->request;
  if (is_pair(request.operation)) request.operation = a.collective->request.operation;
  return a.collective->request == request && a.collective->op == b.collective->op;
}

/// Whether every rank that must call, and is recorded here, has called the same.
bool is_complete(const std::vector<TraceOp>& ops, const Parts& parts,
                 const std::set<int>& recorded) {
  const TraceOp& first = ops[parts.front()];
  const TraceCollective& collective = *first.collective;
  std::set<int> expected;
  for (int rank = 0; rank < static_cast<int>(collective.world_ranks.size()); ++rank) {
    const bool takes_part = !is_pair(collective.request.operation) ||
                            rank == collective.request.root || rank == collective.request.peer;
    const int world_rank = collective.world_ranks[static_cast<std::size_t>(rank)];
    if (takes_part && recorded.contains(world_rank)) expected.insert(world_rank);
  }
  for (const std::size_t part : parts) {
    if (!agree(first, ops[part])) return false;
    expected.erase(ops[part].rank);
  }
  return expected.empty();
}

}  // namespace

std::vector<bool> carried_out(const std::vector<TraceOp>& ops,
                              const std::vector<bool>& unfinished) {
  std::set<int> recorded;
  for (const TraceOp& op : ops) recorded.insert(op.rank);
  const std::vector<Parts> collectives = parts_of_collectives(ops);
  std::vector<bool> done(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) done[i] = !unfinished[i];
  const auto give_up = [&](const Parts& parts) {
    for (const std::size_t part : parts) done[part] = false;
  };
  for (const Parts& parts : collectives) {
    if (!is_complete(ops, parts, recorded)) give_up(parts);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const auto& needs = ops[i].dependencies;
      if (!done[i] || std::all_of(needs.begin(), needs.end(),
                                  [&](OpId id) { return done[static_cast<std::size_t>(id)]; })) {
        continue;
      }
      done[i] = false;
      changed = true;
    }
    for (const Parts& parts : collectives) {
      const auto missing =
          std::count_if(parts.begin(), parts.end(), [&](std::size_t part) { return !done[part]; });
      if (missing == 0 || missing == static_cast<std::ptrdiff_t>(parts.size())) continue;
      give_up(parts);
      changed = true;
    }
  }
  return done;
}

std::vector<TraceOp> without_others(std::vector<TraceOp> ops, const std::vector<bool>& kept) {
  std::vector<OpId> number(ops.size(), kNoOp);
  std::vector<TraceOp> result;
  OpId next = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (kept[i]) number[i] = next++;
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!kept[i]) continue;
    TraceOp& op = result.emplace_back(std::move(ops[i]));
    op.id = number[i];
    for (OpId& dependency : op.dependencies) {
      dependency = number[static_cast<std::size_t>(dependency)];
    }
  }
  return result;
}

}  // namespace ringside
