// What a communicator does with groups, on every backend: a call inside of a group waits in the
// queue until the outermost group ends; a call outside of one is a group of its own.
//
// Threads: one at a time, as comm.h says.
#pragma once

#include <span>

#include "comm/group_queue.h"
#include "ringside/comm.h"

namespace ringside {

class GroupingCommunicator : public Communicator {
 protected:
  /// Where the calls of open groups wait. Communicators that can be in one group share it.
  virtual GroupQueue& queue() = 0;
  /// Carries out calls that belong together, of any communicators that share the queue, and gives
  /// each its event. Not empty.
  virtual void enqueue(std::span<PendingCall> calls) = 0;

  Work submit(CollectiveCall call, Stream& stream) override;
  void group_start() final;
  void group_end() final;
  void group_cancel() final;

 private:
  int open_groups_ = 0;
};

}  // namespace ringside
