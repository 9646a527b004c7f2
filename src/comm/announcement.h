// Tells a stream's listener of a communicator's op: before it is enqueued (constructor) and after
// (enqueued()). Costs nothing when nobody listens.
#pragma once

#include <cstdint>

#include "comm/call_signature.h"
#include "comm/communicator_name.h"
#include "ringside/comm.h"

namespace ringside {

class Announcement {
 public:
  /// `sequence`: the n-th collective of the communicator, or the n-th message of the pair; the
  /// first is 1. All arguments must live until enqueued() has been called.
  Announcement(Stream& stream, const CollectiveCall& call, const CallSignature& signature,
               const CommunicatorName& communicator, int rank, std::int64_t sequence);
  void enqueued();
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

 private:
  Stream& stream_;
  CollectiveInfo collective_;
  TensorRef reads_;
  TensorRef writes_;
  OpInfo info_;
  OpId id_ = kNoOp;
};

}  // namespace ringside
