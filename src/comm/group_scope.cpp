// GroupScope: ncclGroupStart and ncclGroupEnd as a scope.
#include <exception>

#include "ringside/comm.h"

namespace ringside {

GroupScope::GroupScope(std::span<Communicator* const> communicators)
    : communicators_(communicators.begin(), communicators.end()),
      exceptions_(std::uncaught_exceptions()) {
  for (Communicator* communicator : communicators_) communicator->group_start();
}

GroupScope::GroupScope(Communicator& communicator) : exceptions_(std::uncaught_exceptions()) {
  communicators_.push_back(&communicator);
  communicator.group_start();
}

// An error of one communicator must not leave the others' groups open.
void GroupScope::end() {
  if (!open_) return;
  open_ = false;
  std::exception_ptr first;
  for (Communicator* communicator : communicators_) {
    try {
      communicator->group_end();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

GroupScope::~GroupScope() noexcept(false) {
  if (!open_) return;
  if (std::uncaught_exceptions() == exceptions_) {
    end();
    return;
  }
  for (Communicator* communicator : communicators_) communicator->group_cancel();
}

}  // namespace ringside
