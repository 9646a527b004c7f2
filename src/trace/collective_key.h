// Which ops are parts of one collective, or ends of one message.
#pragma once

#include <cstdint>
#include <tuple>

#include "ringside/trace.h"

namespace ringside {

struct CollectiveKey {
  std::int64_t communicator = 0;
  int source = -1;  // of a send and its recv, which are counted per pair; -1 for collectives
  int destination = -1;
  std::int64_t sequence = 0;
  bool operator<(const CollectiveKey& other) const {
    return std::tie(communicator, source, destination, sequence) <
           std::tie(other.communicator, other.source, other.destination, other.sequence);
  }
};

inline CollectiveKey key_of(const TraceCollective& collective) {
  const ScheduleRequest& request = collective.request;
  CollectiveKey key{collective.communicator, -1, -1, collective.sequence};
  if (is_pair(request.operation)) {
    key.source = request.root;
    key.destination = request.peer;
  }
  return key;
}

}  // namespace ringside
