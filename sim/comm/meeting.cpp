#include "sim/comm/meeting.h"

#include <utility>

#include "sim/comm/sim_group.h"

namespace ringside::sim {

void Meeting::reset(std::int64_t sequence) {
  CallSlot::reset(sequence);
  for (Side& side : sides) side = {};
  arrivals = 0;
  untold = 0;
  closed = false;
  running = nullptr;
  error = nullptr;
}

void JointCall::add(std::shared_ptr<SimGroup> group, Meeting& meeting, int side) {
  parts_.push_back({std::move(group), &meeting, side});
  ++open_;
}

void JointCall::reached(Gate gate) {
  const Failure poison = gate.poison();
  {
    const std::lock_guard lock(mutex_);
    gate_ = std::move(gate);
  }
  // The last part that is over opens the gate, and the engine may then let go of this object.
  const Parts parts = std::exchange(parts_, {});
  for (const Part& part : parts) part.group->arrive(*part.meeting, part.side, poison);
}

void JointCall::dropped() {
  for (const Part& part : std::exchange(parts_, {})) {
    part.group->let_go(*part.meeting, part.side);
  }
}

void JointCall::finish_one(Failure error) {
  Gate gate;
  {
    const std::lock_guard lock(mutex_);
    if (error && !error_) error_ = std::move(error);
    if (--open_ > 0) return;
    gate = std::move(gate_);
  }
  gate.complete(error_);
}

void Notices::add(Meeting::Side& side, const Failure& error) {
  notices_.push_back({std::move(side.joint), std::move(side.split), error,
                      std::move(side.call.send.storage), std::move(side.call.recv.storage)});
}

void Notices::deliver() {
  for (Notice& notice : notices_) {
    notice.sent = nullptr;
    notice.received = nullptr;
    if (notice.joint) notice.joint->finish_one(std::move(notice.error));
    if (notice.split) notice.split->latch->complete(std::move(notice.error));
  }
  notices_.clear();
}

}  // namespace ringside::sim
