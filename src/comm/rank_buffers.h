// One rank's buffers of a call, seen as parts of the schedule's full buffer.
#pragma once

#include <cstddef>

#include "ringside/comm.h"
#include "ringside/schedule.h"

namespace ringside {

struct RankBuffers {
  Range input;                        ///< elements of the full buffer that the rank brings
  const std::byte* source = nullptr;  ///< where element input.begin lies
  Range output;                       ///< elements that the rank must have in the end
  std::byte* destination = nullptr;   ///< where element output.begin goes
};

/// Host-addressable addresses; of a collective, not of a send or recv.
RankBuffers rank_buffers(const Schedule& schedule, const CollectiveCall& call, int rank);

}  // namespace ringside
