#include "sim/comm/data_move.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/all_to_all.h"
#include "comm/stepwise.h"
#include "sim/comm/fused.h"
#include "sim/comm/sim_group.h"

namespace ringside::sim {
namespace {

// Below this a second core costs more (its wake-up) than it saves.
constexpr std::size_t kBytesPerTask = 256 * 1024;
// Beyond the caches a part gains nothing from staying on a core, but much from an even end.
constexpr std::size_t kTasksPerWorker = 4;

int part_count(std::size_t bytes, int workers) {
  if (bytes < 2 * kBytesPerTask) return 1;
  const std::size_t most = bytes < kBytesBeyondCaches ? 1 : kTasksPerWorker;
  return static_cast<int>(
      std::min(bytes / kBytesPerTask, most * static_cast<std::size_t>(workers)));
}

}  // namespace

// The n-th of equal calls finds its n-th part in the cache of the same core: what belongs to this
// core is done at once, the other parts are posted to theirs.
void DataMove::start(SimGroup& group, Meeting& meeting) {
  group_ = &group;
  meeting_ = &meeting;
  error_ = nullptr;
  parts_ = 1;
  try {
    prepare();
  } catch (...) {
    group.finish(meeting, to_failure(std::current_exception()));
    return;
  }
  open_.store(parts_, std::memory_order_relaxed);
  Engine& engine = group.context().engine;
  const int parts = parts_;  // the last part that runs gives the books away
  int own = parts == 1 ? 0 : static_cast<int>(engine.own_core()) % parts;
  if (leaves_to_others()) own = -1;
  for (int part = 0; part < parts; ++part) {
    if (part == own) continue;
    try {
      engine.post(*this, part, static_cast<std::size_t>(part));
    } catch (...) {
      run(part);  // no memory left to queue it
    }
  }
  if (own >= 0) run(own);
}

// The messages of a group arrive one after the other on one thread: a long one must not hold up the
// next.
bool DataMove::leaves_to_others() const {
  if (!is_message(meeting_->signature(0))) return false;
  const CollectiveCall& send = meeting_->sides.front().call;
  return send.count * size_of(send.dtype) >= kBytesPerTask;
}

void DataMove::prepare() {
  const CallSignature& signature = meeting_->signature(0);
  const ScheduleRequest& request = signature.request;
  const SimContext& context = group_->context();
  stepwise_ = context.stepwise;
  if (is_message(signature) || stepwise_) return;
  if (request.operation == Operation::kAllToAll) {
    Schedule frame;  // its ranges are not used
    frame.request = request;
    take_buffers(frame);
    return;
  }
  if (!plan_ || plan_->frame.request != request) plan_ = group_->plans().plan(request);
  take_buffers(plan_->frame);
  parts_ = part_count(bytes_touched(buffers_, size_of(request.dtype)), context.workers);
}

void DataMove::take_buffers(const Schedule& frame) {
  buffers_.clear();
  for (std::size_t rank = 0; rank < meeting_->sides.size(); ++rank) {
    buffers_.push_back(rank_buffers(frame, meeting_->sides[rank].call, static_cast<int>(rank)));
  }
}

void DataMove::run(int part) {
  try {
    move(part);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = to_failure(std::current_exception());
  }
  if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) group_->finish(*meeting_, error_);
}

void DataMove::move(int part) {
  const CallSignature& signature = meeting_->signature(0);
  const ScheduleRequest& request = signature.request;
  if (is_message(signature)) {
    const CollectiveCall& send = meeting_->sides.front().call;
    const CollectiveCall& recv = meeting_->sides.back().call;
    std::memmove(recv.recv.raw(), send.send.raw(), send.count * size_of(send.dtype));
  } else if (stepwise_) {
    const Schedule schedule = make_schedule(request);
    take_buffers(schedule);
    run_in_memory(schedule, signature.op, buffers_);
  } else if (request.operation == Operation::kAllToAll) {
    exchange_blocks(request, buffers_);
  } else {
    run_fused(*plan_, signature.op, buffers_,
              schedule::even_part(plan_->frame.elements, parts_, part));
  }
}

}  // namespace ringside::sim
