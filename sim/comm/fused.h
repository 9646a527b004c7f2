// The fused executor: evaluates a plan's expressions block by block in cache and writes each value
// to every rank that gets it. Pure function of host memory; any thread.
#pragma once

#include <span>

#include "comm/rank_buffers.h"
#include "sim/comm/fused_plan.h"

namespace ringside::sim {

/// Carries out `part` (of the full buffer) of the plan. `buffers` has one entry per rank. Disjoint
/// parts may run at the same time.
void run_fused(const FusedPlan& plan, ReduceOp op, std::span<const RankBuffers> buffers,
               Range part);

}  // namespace ringside::sim
