// What DDP's ranks exchange a collective for. The trace does not say it in a word, but the
// operation, the phase and the bucket tell.
#pragma once

#include <cstddef>
#include <cstdint>

#include "views/step_facts.h"

namespace ringside {

enum class Purpose : std::uint8_t {
  kBucket,           ///< the average of a bucket's gradients
  kBuffers,          ///< rank 0's buffers before a forward
  kBucketOrder,      ///< rank 0's new buckets, once, in the forward after the first backward
  kBatchStatistics,  ///< SyncBatchNorm's: its means in forward, their gradients in backward
  kUsedParameters,   ///< the map of find_unused_parameters
  kActiveRanks       ///< join: who still has batches, and whether they synchronise
};

/// Of an op that is a collective of a step under DDP.
Purpose purpose_of(const TraceOp& op);

/// Bytes that all ranks together send in a phase of a step for one purpose.
std::size_t bytes_for(const Trace& trace, int step, Phase phase, Purpose purpose);

}  // namespace ringside
