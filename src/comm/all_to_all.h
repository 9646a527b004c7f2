// All-to-all where all ranks' buffers are in reach: every block is copied once, without messages.
// The results are those of the stepwise executor; there is nothing to compute.
#pragma once

#include <span>

#include "comm/rank_buffers.h"
#include "ringside/schedule.h"

namespace ringside {

/// `buffers`: of every rank; ranges are not used.
void exchange_blocks(const ScheduleRequest& request, std::span<const RankBuffers> buffers);

}  // namespace ringside
