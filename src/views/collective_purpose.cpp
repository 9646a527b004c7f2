#include "views/collective_purpose.h"

namespace ringside {

Purpose purpose_of(const TraceOp& op) {
  if (op.bucket >= 0) return Purpose::kBucket;
  const bool broadcast = op.collective->request.operation == Operation::kBroadcast;
  if (op.phase == Phase::kSyncBuffers) return broadcast ? Purpose::kBuffers : Purpose::kActiveRanks;
  if (op.phase == Phase::kAllReduce) return Purpose::kUsedParameters;
  if (op.phase == Phase::kForward) {
    if (broadcast) return Purpose::kBucketOrder;
    // Statistics have a value for every channel and rank, and are gathered.
    return op.collective->request.operation == Operation::kAllGather ? Purpose::kBatchStatistics
                                                                     : Purpose::kActiveRanks;
  }
  return Purpose::kBatchStatistics;
}

std::size_t bytes_for(const Trace& trace, int step, Phase phase, Purpose purpose) {
  return gather_facts(select_ops(trace, step,
                                 [&](const TraceOp& op) {
                                   return op.phase == phase && op.kind == OpKind::kCollective &&
                                          op.collective && purpose_of(op) == purpose;
                                 }))
      .bytes();
}

}  // namespace ringside
