#include "comm/grouping_communicator.h"

#include <memory>
#include <utility>
#include <vector>

namespace ringside {

Work GroupingCommunicator::submit(CollectiveCall call, Stream& stream) {
  PendingCall pending{this, std::move(call), &stream, nullptr, nullptr};
  if (open_groups_ == 0) {
    enqueue({&pending, 1});
    return Work(std::move(pending.event));
  }
  pending.work = std::make_shared<Work::State>();
  Work work(pending.work);
  queue().add(std::move(pending));
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
  if (calls.empty()) return;
  const auto hand_over = [&] {
    for (PendingCall& pending : calls) pending.work->event = std::move(pending.event);
  };
  try {
    enqueue(calls);
  } catch (...) {
    hand_over();  // some may be on their way
    throw;
  }
  hand_over();
}

void GroupingCommunicator::group_cancel() {
  --open_groups_;
  queue().drop(this);
  queue().end();
}

}  // namespace ringside
