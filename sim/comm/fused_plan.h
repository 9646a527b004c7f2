// What a schedule computes, without the messages: for every element range the expression of
// additions that the schedule carries out, and the ranks that get its value.
//
// Found by running the schedule on expressions instead of numbers. Evaluating the expression gives
// the same bits as the messages, and moves far fewer bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::sim {

struct FusedPlan {
  /// A rank's contribution (rank >= 0), or left op right, each the index of a node.
  struct Node {
    int rank = -1;
    int left = -1;
    int right = -1;
  };
  struct Target {
    int node = 0;
    std::vector<int> destinations;  ///< ranks, ascending
    /// If the node adds one contribution after the other: the ranks in that order, and whether the
    /// sum so far is the left operand. Else empty.
    std::vector<int> chain;
    bool sum_first = false;
  };
  struct Segment {
    Range range;  ///< of the full buffer
    std::vector<Target> targets;
  };

  Schedule frame;  ///< the schedule without its rounds: request, elements, blocks
  std::vector<Node> nodes;
  std::vector<Segment> segments;  ///< ascending, not overlapping
  int temporaries = 0;            ///< blocks of scratch that evaluating one segment needs
};

/// The schedule must be right (check_schedule).
FusedPlan make_fused_plan(const Schedule& schedule);

}  // namespace ringside::sim
