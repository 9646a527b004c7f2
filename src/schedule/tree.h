// The binomial tree: ceil(log2 n) rounds. Ranks are counted from the root: v = rank - root mod n.
//
// Broadcast doubles the informed ranks: in round s every v < 2^s sends the buffer to v + 2^s;
// reduce is its mirror image. Scatter sends a whole subtree's blocks at once, the largest subtree
// first; so that these blocks lie side by side, the subtree of v is v, v+1, ..., v + 2^s - 1 for
// the largest 2^s that divides v; gather is its mirror image. Blocks that wrap around the end of
// the buffer (root > 0) are two messages to the same rank in the same round.
#pragma once

#include <span>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

std::vector<Round> tree_broadcast(int ranks, int root, Range buffer);
std::vector<Round> tree_reduce(int ranks, int root, Range buffer);
/// `blocks` has one range per rank, side by side.
std::vector<Round> tree_scatter(std::span<const Range> blocks, int root);
std::vector<Round> tree_gather(std::span<const Range> blocks, int root);

}  // namespace ringside::schedule
