// The ring: every rank sends to one neighbour and receives from the other.
//
// Numbered as NCCL's [src/device/all_reduce.h, runRing]: chunk i is finished at rank i. With
// direction up it starts at rank i+1 and collects i+1, i+2, ..., i; with direction down it starts
// at rank i-1 and collects i-1, i-2, ..., i, as gloo's [gloo/allreduce.cc, ring].
#pragma once

#include <span>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// n-1 rounds; afterwards rank i holds the finished chunk i. `chunks` has one range per rank.
std::vector<Round> ring_reduce_scatter(std::span<const Range> chunks, Direction direction);

/// n-1 rounds; rank i starts with chunk i, afterwards every rank holds all chunks.
std::vector<Round> ring_all_gather(std::span<const Range> chunks, Direction direction);

}  // namespace ringside::schedule
