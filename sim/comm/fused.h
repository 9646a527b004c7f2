// The fused executor: evaluates a plan's expressions block by block in cache and writes each value
// to every rank that gets it. Pure function of host memory; any thread.
#pragma once

#include <cstddef>
#include <span>

#include "comm/rank_buffers.h"
#include "sim/comm/fused_plan.h"

namespace ringside::sim {

/// What all ranks together take up beyond this comes from memory anyway.
inline constexpr std::size_t kBytesBeyondCaches = 16 * 1024 * 1024;

/// What all ranks together take up: of each the larger of what it brings and what it gets.
std::size_t bytes_touched(std::span<const RankBuffers> buffers, std::size_t element_size);

/// Carries out `part` (of the full buffer) of the plan. `buffers` has one entry per rank. Disjoint
/// parts may run at the same time.
void run_fused(const FusedPlan& plan, ReduceOp op, std::span<const RankBuffers> buffers,
               Range part);

}  // namespace ringside::sim
