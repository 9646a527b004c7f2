// Work: a handle that gets its event when its operation is enqueued.
#include "ringside/comm.h"
#include "ringside/error.h"

namespace ringside {

// Null for a default-constructed handle, which is done.
const std::shared_ptr<Event>& Work::enqueued_event() const {
  if (state_ && !state_->event) {
    throw Error(ErrorKind::kInvalidArgument,
                "wait for an operation that is not enqueued: its group is open or was dropped",
                "end the GroupScope before waiting for the work that was started in it");
  }
  return event();
}

void Work::wait(Stream& stream) const {
  if (const auto& event = enqueued_event()) stream.wait(event);
}

void Work::synchronize() const {
  if (const auto& event = enqueued_event()) event->synchronize();
}

bool Work::done() const {
  if (state_ && !state_->event) return false;
  return !event() || event()->done();
}

}  // namespace ringside
