// Work: a handle that gets its event when its operation is enqueued.
#include "ringside/comm.h"
#include "ringside/error.h"

namespace ringside {
namespace {

// Null for a default-constructed handle, which is done.
std::shared_ptr<Event> event_of(const std::shared_ptr<Work::State>& state) {
  if (!state) return nullptr;
  if (!state->event) {
    throw Error(ErrorKind::kInvalidArgument,
                "wait for an operation that is not enqueued: its group is open or was dropped",
                "end the GroupScope before waiting for the work that was started in it");
  }
  return state->event;
}

}  // namespace

void Work::wait(Stream& stream) const {
  if (const auto event = event_of(state_)) stream.wait(event);
}

void Work::synchronize() const {
  if (const auto event = event_of(state_)) event->synchronize();
}

bool Work::done() const {
  if (!state_) return true;
  return state_->event && state_->event->done();
}

}  // namespace ringside
