// Recursive halving and doubling: the ring's bytes in a logarithm of its rounds.
//
// For n = 2^d ranks. Reduce-scatter by halving: in round s rank r exchanges with r xor n/2^(s+1);
// each of the two sends the half of its blocks that the other keeps. All-gather by doubling: in
// round s rank r exchanges with r xor 2^s, each sends all it has. All-reduce is both, 2d rounds.
//
// For other n, d = floor(log2 n): of the first 2(n - 2^d) ranks, each odd one hands its data to the
// even one before it, which then acts for both, and gets its result at the end.
//
// Rabenseifner, "Optimization of collective reduction operations", 2004; gloo's "halving doubling".
#pragma once

#include <span>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// `blocks` has one range per rank, side by side.
std::vector<Round> halving_reduce_scatter(std::span<const Range> blocks);
std::vector<Round> doubling_all_gather(std::span<const Range> blocks);

/// The buffer is cut into 2^d parts.
std::vector<Round> halving_doubling_all_reduce(int ranks, Range buffer);

}  // namespace ringside::schedule
