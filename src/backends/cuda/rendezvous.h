// Where the ranks of a communicator meet before NCCL is called.
//
// NCCL does not compare what the ranks ask for, and waits for ever for one that does not come. Here
// a call waits on the host until every rank has made it; then the calls are compared, and the last
// rank's thread enqueues all of them. So no NCCL call can wait for a rank, and nothing moves after
// a mismatch. The price: a collective holds each rank's host thread until the last has come.
//
// Threads: any; one at a time per rank. It knows nothing of CUDA.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "comm/call_slot.h"
#include "comm/communicator_name.h"
#include "comm/group_queue.h"
#include "core/failure.h"

namespace ringside::cuda {

/// One rank's call, with what is needed to enqueue it.
struct RankCall {
  int rank = 0;
  CallSignature signature;
  PendingCall pending;
};

/// One collective: the calls of all ranks.
struct Meeting : CallSlot {
  using CallSlot::CallSlot;
  std::vector<PendingCall> calls;  ///< by rank
  bool over = false;               ///< enqueued, or failed
  Failure failure;                 ///< every rank throws its own copy
};

class Rendezvous {
 public:
  using Meetings = std::vector<std::shared_ptr<Meeting>>;
  /// `enqueue` gets the meetings that one thread has completed, in order, and enqueues the calls of
  /// all their ranks together. What it throws is thrown to every rank.
  Rendezvous(CommunicatorName name, std::function<void(const Meetings&)> enqueue);

  /// The number of the rank's next call.
  std::int64_t upcoming(int rank) const;
  /// Makes the calls, waits until they are enqueued. Throws Error(kCommMismatch), or, when a rank
  /// that is needed has ended or the calling thread is the only one, Error(kDeadlock) or
  /// Error(kRankFailed).
  void meet(std::span<const RankCall> calls);

  /// One thread per rank from now on ...
  void begin_run();
  /// ... this one ends; `failure` says why, null if it simply returned ...
  void end_rank(int rank, const Failure& failure);
  /// ... all have ended: again one thread that drives all ranks. Calls that were left alone are
  /// forgotten, so that the next run begins anew.
  void end_run();
  bool running() const;

 private:
  struct RankState {
    bool active = false;  // has a thread that may still call
    Failure failure;
  };
  bool waits_in_vain(const Meeting& meeting) const;
  Failure absence(const Meeting& meeting) const;
  void settle(const Meetings& complete);
  void give_up_if_in_vain();

  CommunicatorName name_;
  std::function<void(const Meetings&)> enqueue_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  SlotSequence<std::shared_ptr<Meeting>> sequence_;
  std::vector<RankState> ranks_;
  bool running_ = false;
};

}  // namespace ringside::cuda
