#include "trace/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace ringside {
namespace {

TraceOp op(OpId id, int step, int rank, std::vector<OpId> dependencies = {}) {
  TraceOp result;
  result.id = id;
  result.step = step;
  result.rank = rank;
  result.name = "s" + std::to_string(step) + "r" + std::to_string(rank);
  result.dependencies = std::move(dependencies);
  return result;
}

std::vector<std::string> names(const std::vector<TraceOp>& ops) {
  std::vector<std::string> result;
  result.reserve(ops.size());
  for (const TraceOp& op : ops) result.push_back(op.name);
  return result;
}

TEST(TraceOrder, IsByStepThenRank) {
  const auto ordered =
      in_trace_order({op(0, 1, 0), op(1, 0, 1), op(2, -1, 2), op(3, 1, 1, {1}), op(4, 0, 2, {2})});
  EXPECT_EQ(names(ordered), (std::vector<std::string>{"s-1r2", "s0r1", "s0r2", "s1r0", "s1r1"}));
  EXPECT_EQ(ordered[4].dependencies, std::vector<OpId>{1});
  for (std::size_t i = 0; i < ordered.size(); ++i) EXPECT_EQ(ordered[i].id, static_cast<OpId>(i));
}

TEST(TraceOrder, AnOpComesAfterWhatItWaitsFor) {
  // Rank 0's second op waits for rank 1's first.
  const auto ordered = in_trace_order({op(0, 0, 0), op(1, 0, 1), op(2, 0, 0, {0, 1}), op(3, 0, 1)});
  EXPECT_EQ(names(ordered), (std::vector<std::string>{"s0r0", "s0r1", "s0r0", "s0r1"}));
  EXPECT_EQ(ordered[2].dependencies, (std::vector<OpId>{0, 1}));
}

TEST(TraceOrder, ACircleIsABug) {
  EXPECT_THROW(in_trace_order({op(0, 0, 0, {1}), op(1, 0, 1, {0})}), std::logic_error);
}

// Whatever the interleaving of the ranks, the result is the same.
TEST(TraceOrder, DoesNotDependOnTheInterleaving) {
  std::mt19937 random(7);
  std::vector<TraceOp> program;  // in one possible order of time
  for (OpId id = 0; id < 200; ++id) {
    TraceOp next = op(id, static_cast<int>(id / 50), static_cast<int>(random() % 4));
    next.label = std::to_string(id);
    if (id > 0 && random() % 2 == 0) next.dependencies = {static_cast<OpId>(random() % id)};
    program.push_back(next);
  }
  const std::vector<TraceOp> expected = in_trace_order(program);

  for (int round = 0; round < 20; ++round) {
    // Another order: rank by rank pieces, kept in order within the rank.
    std::vector<std::vector<TraceOp>> queues(4);
    for (const TraceOp& next : program) queues[static_cast<std::size_t>(next.rank)].push_back(next);
    std::vector<std::size_t> heads(4, 0);
    std::vector<TraceOp> other;
    std::vector<OpId> renamed(program.size());
    while (other.size() < program.size()) {
      const std::size_t rank = random() % 4;
      if (heads[rank] == queues[rank].size()) continue;
      other.push_back(queues[rank][heads[rank]++]);
      renamed[static_cast<std::size_t>(other.back().id)] = static_cast<OpId>(other.size() - 1);
    }
    for (TraceOp& next : other) {
      next.id = renamed[static_cast<std::size_t>(next.id)];
      for (OpId& dependency : next.dependencies) {
        dependency = renamed[static_cast<std::size_t>(dependency)];
      }
    }
    EXPECT_EQ(in_trace_order(other), expected);
  }
}

}  // namespace
}  // namespace ringside
