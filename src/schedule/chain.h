// The chain: a ring that is not closed. NCCL's broadcast and reduce.
//
// The buffer is cut into pieces that follow each other, so that all links are busy: piece p crosses
// link j in round p + j, n-2+k rounds for k pieces. Pieces are as equal as possible, the first ones
// longer.
#pragma once

#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// From the root along `direction` through all ranks.
std::vector<Round> chain_broadcast(int ranks, int root, Range buffer, int pieces,
                                   Direction direction);

/// The same chain in the same direction, ending at the root; each rank adds what it receives to
/// its own. The sum starts at the root's next neighbour.
std::vector<Round> chain_reduce(int ranks, int root, Range buffer, int pieces, Direction direction);

}  // namespace ringside::schedule
