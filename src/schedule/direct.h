// Direct exchange: every rank with every other, n-1 rounds. In round s = 1, ..., n-1 rank i sends
// to rank i+s, which is one partner each way. No value travels twice, so every message could go at
// once where the network has the ports; the ring needs none but its neighbours. The pairwise
// exchange of MPI libraries, and the order in which NCCL posts the sends of an all-to-all.
#pragma once

#include <span>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// `blocks` has one range per rank. Rank i sends its own contribution to block i+s.
std::vector<Round> direct_reduce_scatter(std::span<const Range> blocks);
/// Rank i sends block i.
std::vector<Round> direct_all_gather(std::span<const Range> blocks);
/// `blocks` has one range per pair of ranks: block i * ranks + j goes from rank i to rank j.
std::vector<Round> direct_all_to_all(int ranks, std::span<const Range> blocks);

}  // namespace ringside::schedule
