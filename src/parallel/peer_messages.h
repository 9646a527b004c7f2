// Messages between pairs of ranks, as one group on the communication stream.
#pragma once

#include <vector>

#include "ringside/tensor.h"
#include "ringside/world.h"

namespace ringside {

struct PeerMessage {
  int peer = 0;  ///< rank of the communicator
  DeviceArray data;
};

/// Sends, or receives, all of them at once: after what the rank's compute stream has done so far
/// and before what it does next. Does not block the host. Empty arrays are not sent.
void send_to_peers(Rank& rank, const std::vector<PeerMessage>& messages);
void receive_from_peers(Rank& rank, const std::vector<PeerMessage>& messages);

}  // namespace ringside
