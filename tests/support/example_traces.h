// Small traces made by hand with the conventions of the strategies: one DataParallel step, one
// DistributedDataParallel step with three buckets, a timeline with known times, one collective.
#pragma once

#include <string>
#include <vector>

#include "ringside/timeline.h"
#include "ringside/trace.h"

namespace ringside::test {

/// DataParallel on 4 devices, step 0: mlp:64,32,10 on digits, batch 64, every phase.
Trace data_parallel_trace();

/// DistributedDataParallel on 4 ranks, step 0: mlp:64,32,32,10 on digits, batch 16 per rank, one
/// bucket per Linear: three all-reduces beside backward.
Trace ddp_trace();

/// The timeline picture of the example diagrams: ten layers of 4 MiB on 4 ranks, buckets of 4, 28
/// and 8 MiB, forward 0.5 ms and backward 1 ms per layer, update 0.7 ms, rank 2 computes 10 %
/// slower. Replayed with overlap_rates() the all-reduces take 0.68, 4.45 and 1.31 ms.
Trace overlap_trace();
Rates overlap_rates();

/// A ring all-reduce of `count` float32 on `ranks` ranks and nothing else: step 0, phase
/// all-reduce.
Trace collective_trace(int ranks = 4, std::size_t count = 1000);

}  // namespace ringside::test
