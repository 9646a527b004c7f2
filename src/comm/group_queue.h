// Calls that wait for the end of their group. Threads: as its communicator, one at a time.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ringside/comm.h"

namespace ringside {

struct PendingCall {
  Communicator* communicator = nullptr;
  CollectiveCall call;
  Stream* stream = nullptr;
  std::shared_ptr<Work::State> work;  ///< of a call in a group: what its handle looks into
  std::shared_ptr<Event> event;       ///< once it is enqueued
};

class GroupQueue {
 public:
  void start() { ++depth_; }
  /// True when the outermost group has ended: the caller enqueues what take() gives.
  bool end() { return --depth_ == 0; }
  void add(PendingCall call) { pending_.push_back(std::move(call)); }
  std::vector<PendingCall> take() { return std::exchange(pending_, {}); }
  /// Forgets the calls of `communicator`.
  void drop(const Communicator* communicator) {
    std::erase_if(pending_,
                  [&](const PendingCall& call) { return call.communicator == communicator; });
  }

 private:
  int depth_ = 0;
  std::vector<PendingCall> pending_;
};

/// Calls visit(stream, calls) for the calls of each stream, in their order; streams in the order of
/// their first call.
template <typename Visit>
void for_each_stream(std::span<PendingCall> calls, Visit visit) {
  for (auto begin = calls.begin(); begin != calls.end();) {
    Stream* stream = begin->stream;
    const auto end = std::stable_partition(
        begin, calls.end(), [&](const PendingCall& call) { return call.stream == stream; });
    visit(*stream, std::span<PendingCall>(begin, end));
    begin = end;
  }
}

}  // namespace ringside
