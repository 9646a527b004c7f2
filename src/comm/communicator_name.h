// How a communicator is told from others, in traces and in messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ringside {

struct CommunicatorName {
  std::int64_t number = 0;  ///< 0 = the world
  std::vector<int> world_ranks;

  /// "the world"; "communicator 2 (world ranks 1, 3)".
  std::string text() const;
};

/// The name of the `ordinal`-th communicator (counted from 1, by split and then by color) that was
/// split from `parent`, with `members` as ranks of the parent: every rank comes to the same number
/// without asking the others. Numbers say the way from the world down (5000002: the second split
/// from the fifth) while there is room; further down they are drawn from the parent's by a hash.
CommunicatorName child_of(const CommunicatorName& parent, std::int64_t ordinal,
                          const std::vector<int>& members);

/// "rank 2", "ranks 0, 1, 3".
std::string ranks_text(const std::vector<int>& ranks);

/// One sub-communicator of a split: its members as ranks of the parent, in the new rank order.
struct SplitGroup {
  int color = 0;
  std::vector<int> members;
};
/// The rule of Communicator::split: ascending colors; inside a color by key, then by rank. Negative
/// colors belong to none.
std::vector<SplitGroup> split_groups(const std::vector<int>& colors, const std::vector<int>& keys);

}  // namespace ringside
