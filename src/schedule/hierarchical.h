// Two levels: p ranks inside each of N nodes, joined by fast links, and ranks of the same place in
// their nodes, joined by the network. The network carries 1/p of the buffer per rank.
//
// All-reduce: reduce-scatter inside, all-reduce of each part between, all-gather inside; all three
// are rings, 2(p-1) + 2(N-1) rounds with the bytes of one flat ring. All-gather goes between nodes
// first and reduce-scatter inside first, so that no block crosses the network twice. Broadcast and
// reduce are binomial trees, over the nodes and inside them.
//
// A rank's blocks of several nodes do not lie side by side: they are several messages to the same
// rank in the same round.
#pragma once

#include <span>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// Rank r is number r mod `size` of node r / size.
struct Nodes {
  int count = 1;
  int size = 1;
};

std::vector<Round> hierarchical_all_reduce(const Nodes& nodes, Range buffer);
/// `blocks` has one range per rank.
std::vector<Round> hierarchical_all_gather(const Nodes& nodes, std::span<const Range> blocks);
std::vector<Round> hierarchical_reduce_scatter(const Nodes& nodes, std::span<const Range> blocks);
std::vector<Round> hierarchical_broadcast(const Nodes& nodes, int root, Range buffer);
std::vector<Round> hierarchical_reduce(const Nodes& nodes, int root, Range buffer);

}  // namespace ringside::schedule
