#include "sim/comm/fused_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "schedule/elementary_ranges.h"
#include "schedule/ownership.h"
#include "schedule/symbolic.h"

namespace ringside::sim {
namespace {

constexpr int kNothing = -1;

// Equal expressions are one node.
class Expressions {
 public:
  explicit Expressions(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) nodes_.push_back({rank, kNothing, kNothing});
  }
  int contribution(int rank) const { return rank; }
  int combination(int left, int right) {
    const auto [entry, fresh] = known_.try_emplace({left, right}, static_cast<int>(nodes_.size()));
    if (fresh) nodes_.push_back({-1, left, right});
    return entry->second;
  }
  std::vector<FusedPlan::Node> take() { return std::move(nodes_); }

 private:
  std::vector<FusedPlan::Node> nodes_;
  std::map<std::pair<int, int>, int> known_;
};

std::vector<FusedPlan::Target> targets_of(const Schedule& schedule, const schedule::Held<int>& held,
                                          std::size_t piece, std::size_t element) {
  std::vector<FusedPlan::Target> targets;
  for (int rank = 0; rank < schedule.request.ranks; ++rank) {
    const Range output = schedule::output_range(schedule, rank);
    if (element < output.begin || element >= output.end) continue;
    const int node = held[static_cast<std::size_t>(rank)][piece];
    auto target = std::find_if(targets.begin(), targets.end(),
                               [&](const FusedPlan::Target& known) { return known.node == node; });
    if (target == targets.end()) target = targets.insert(targets.end(), {node, {}, {}, false});
    target->destinations.push_back(rank);
  }
  return targets;
}

bool same_targets(const FusedPlan::Segment& segment,
                  const std::vector<FusedPlan::Target>& targets) {
  return std::equal(segment.targets.begin(), segment.targets.end(), targets.begin(), targets.end(),
                    [](const FusedPlan::Target& a, const FusedPlan::Target& b) {
                      return a.node == b.node && a.destinations == b.destinations;
                    });
}

// Blocks of scratch that fused.cpp takes for each node. Children have smaller indices.
int count_temporaries(const std::vector<FusedPlan::Node>& nodes) {
  std::vector<int> needed(nodes.size(), 1);
  int most = 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].rank >= 0) continue;
    const int left = needed[static_cast<std::size_t>(nodes[i].left)];
    const int right = needed[static_cast<std::size_t>(nodes[i].right)];
    // The operand that comes first there leaves one block taken for the other.
    const bool right_first = nodes[static_cast<std::size_t>(nodes[i].left)].rank >= 0;
    needed[i] = right_first ? std::max(right, left + 1) : std::max(left, right + 1);
    most = std::max(most, needed[i]);
  }
  return most;
}

// Walks down from the node while one operand is a contribution and the other, always on the same
// side, is not.
void find_chain(const std::vector<FusedPlan::Node>& nodes, FusedPlan::Target& target) {
  const auto at = [&](int index) { return nodes[static_cast<std::size_t>(index)]; };
  std::vector<int> backwards;
  std::optional<bool> sum_first;
  int index = target.node;
  while (at(index).rank < 0) {
    const FusedPlan::Node& node = at(index);
    const bool left_leaf = at(node.left).rank >= 0;
    const bool right_leaf = at(node.right).rank >= 0;
    if (!left_leaf && !right_leaf) return;
    const bool first = left_leaf && right_leaf ? sum_first.value_or(false) : right_leaf;
    if (sum_first.value_or(first) != first) return;
    sum_first = first;
    backwards.push_back(at(first ? node.right : node.left).rank);
    index = first ? node.left : node.right;
  }
  backwards.push_back(at(index).rank);
  target.chain.assign(backwards.rbegin(), backwards.rend());
  target.sum_first = sum_first.value_or(false);
}

}  // namespace

FusedPlan make_fused_plan(const Schedule& schedule) {
  const int ranks = schedule.request.ranks;
  const schedule::ElementaryRanges pieces(schedule);
  Expressions expressions(ranks);
  schedule::Held<int> held(static_cast<std::size_t>(ranks),
                           std::vector<int>(pieces.size(), kNothing));
  for (int rank = 0; rank < ranks; ++rank) {
    const Range input = pieces.within(schedule::input_range(schedule, rank));
    for (std::size_t piece = input.begin; piece < input.end; ++piece) {
      held[static_cast<std::size_t>(rank)][piece] = expressions.contribution(rank);
    }
  }
  schedule::run_symbolically(
      schedule, pieces, held,
      [&](std::size_t /*round*/, const Message& message, std::size_t /*piece*/, int sent,
          int& into) {
        into = message.action == Action::kCopy ? sent : expressions.combination(into, sent);
        return true;
      });

  FusedPlan plan;
  plan.frame.request = schedule.request;
  plan.frame.elements = schedule.elements;
  plan.frame.blocks = schedule.blocks;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const Range range = pieces[piece];
    auto targets = targets_of(schedule, held, piece, range.begin);
    if (!plan.segments.empty() && same_targets(plan.segments.back(), targets)) {
      plan.segments.back().range.end = range.end;
    } else {
      plan.segments.push_back({range, std::move(targets)});
    }
  }
  plan.nodes = expressions.take();
  for (FusedPlan::Segment& segment : plan.segments) {
    for (FusedPlan::Target& target : segment.targets) find_chain(plan.nodes, target);
  }
  plan.temporaries = count_temporaries(plan.nodes);
  return plan;
}

}  // namespace ringside::sim
