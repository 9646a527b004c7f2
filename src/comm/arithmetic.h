// Element arithmetic of collectives on host memory, one definition for every executor.
//
// Sums and products of integers wrap around. Those of 16-bit floats are rounded to 16 bits at every
// combination, and so is 1/n of avg, as in NCCL (src/device/reduce_kernel.h); no wider accumulator.
// The minimum or maximum with a NaN is NaN. Nothing is contracted or reordered, so that the same
// order of calls gives the same bits.
#pragma once

#include <cstddef>
#include <span>

#include "ringside/dtype.h"
#include "ringside/schedule.h"

namespace ringside {

/// out[i] = a[i] op b[i]; avg adds. `out` may be `a` or `b`.
void combine(DType dtype, ReduceOp op, void* out, const void* a, const void* b, std::size_t count);

/// What a rank brings into the sum: for avg of a floating dtype in[i] * (1/ranks), the factor
/// rounded to the dtype [NCCL src/enqueue.cc, hostToDevRedOp]; else a copy. `out` may be `in`.
void contribute(DType dtype, ReduceOp op, int ranks, void* out, const void* in, std::size_t count);
/// True if contribute() changes values.
bool scales_contributions(DType dtype, ReduceOp op);

/// Every destination[i] = the sources combined one after the other: acc = source 0, then
/// acc op source 1 and so on (`accumulator_first`), or source 1 op acc; with contribute() before
/// and conclude() behind. The same bits as that, in one pass over memory. A destination may be a
/// source, as a whole. At least one of each.
void combine_chain(DType dtype, ReduceOp op, int ranks, bool accumulator_first,
                   std::span<const std::byte* const> sources,
                   std::span<std::byte* const> destinations, std::size_t count);

/// The last step of avg of an integer dtype: divides by `ranks`, toward zero. Else nothing.
void conclude(DType dtype, ReduceOp op, int ranks, void* data, std::size_t count);

}  // namespace ringside
