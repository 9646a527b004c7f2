#include "comm/grouping_communicator.h"

#include <memory>
#include <utility>
#include <vector>

namespace ringside {

Work GroupingCommunicator::submit(CollectiveCall call, Stream& stream) {
  PendingCall pending{this, std::move(call), &stream, std::make_shared<Work::State>()};
  Work work(pending.work);
  if (open_groups_ > 0) {
    queue().add(std::move(pending));
  } else {
    enqueue({&pending, 1});
  }
  return work;
}

void GroupingCommunicator::group_start() {
  ++open_groups_;
  queue().start();
}

void GroupingCommunicator::group_end() {
  --open_groups_;
  if (!queue().end()) return;
  std::vector<PendingCall> calls = queue().take();
  if (!calls.empty()) enqueue(calls);
}

void GroupingCommunicator::group_cancel() {
  --open_groups_;
  queue().drop(this);
  queue().end();
}

}  // namespace ringside
