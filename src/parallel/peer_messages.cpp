#include "parallel/peer_messages.h"

namespace ringside {
namespace {

template <typename Call>
void exchange(Rank& rank, const std::vector<PeerMessage>& messages, const Call& call) {
  if (messages.empty()) return;
  Stream& stream = rank.device.stream(StreamKind::kCommunication);
  stream.wait(rank.device.compute().record());
  GroupScope group(rank.communicator);
  for (const PeerMessage& message : messages) {
    if (message.data.count() > 0) call(message, stream);
  }
  group.end();
  rank.device.compute().wait(stream.record());
}

}  // namespace

void send_to_peers(Rank& rank, const std::vector<PeerMessage>& messages) {
  exchange(rank, messages, [&](const PeerMessage& message, Stream& stream) {
    rank.communicator.send(message.data, message.data.count(), message.peer, stream);
  });
}

void receive_from_peers(Rank& rank, const std::vector<PeerMessage>& messages) {
  exchange(rank, messages, [&](const PeerMessage& message, Stream& stream) {
    rank.communicator.recv(message.data, message.data.count(), message.peer, stream);
  });
}

}  // namespace ringside
