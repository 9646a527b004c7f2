#include "sim/comm/meeting.h"

#include <utility>

#include "sim/comm/sim_group.h"

namespace ringside::sim {

void JointCall::add(std::shared_ptr<SimGroup> group, std::shared_ptr<Meeting> meeting, int side) {
  parts_.push_back({std::move(group), std::move(meeting), side});
  ++open_;
}

void JointCall::reached(const Gate& gate) {
  std::vector<Part> parts;
  {
    const std::lock_guard lock(mutex_);
    gate_ = gate;
    parts = std::exchange(parts_, {});  // meetings hold this object: no cycle may stay
  }
  const std::exception_ptr poison = gate.poison();
  for (const Part& part : parts) part.group->arrive(part.meeting, part.side, poison);
}

void JointCall::forget() {
  const std::lock_guard lock(mutex_);
  parts_.clear();
}

void JointCall::finish_one(std::exception_ptr error) {
  Gate gate;
  {
    const std::lock_guard lock(mutex_);
    if (error && !error_) error_ = std::move(error);
    if (--open_ > 0) return;
    gate = gate_;
  }
  gate.complete(error_);
}

void Notices::add(const Meeting::Side& side, const std::exception_ptr& error) {
  notices_.push_back({side.joint, side.latch, error});
}

void Notices::deliver() {
  for (Notice& notice : std::exchange(notices_, {})) {
    if (notice.joint) notice.joint->finish_one(notice.error);
    if (notice.latch) notice.latch->complete(notice.error);
  }
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an unknown exception";
  }
}

}  // namespace ringside::sim
