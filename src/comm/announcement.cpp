#include "comm/announcement.h"

#include "schedule/request.h"

namespace ringside {

Announcement::Announcement(Stream& stream, const CollectiveCall& call,
                           const CallSignature& signature, const CommunicatorName& communicator,
                           int rank, std::int64_t sequence)
    : stream_(stream) {
  if (stream.device().listener() == nullptr) return;
  collective_.request = signature.request;
  collective_.op = signature.op;
  collective_.communicator = communicator.number;
  collective_.sequence = sequence;
  collective_.rank = rank;
  collective_.world_ranks = communicator.world_ranks;
  info_.kind = kind_of(call.operation);
  info_.name = to_string(call.operation);
  info_.bytes = schedule::rank_buffer_elements(signature.request) * size_of(call.dtype);
  info_.collective = &collective_;
  if (info_.kind != OpKind::kCollective) {
    info_.peer = communicator.world_ranks[static_cast<std::size_t>(call.peer)];
  }
  if (!call.send.empty()) {
    reads_.array = &call.send;
    info_.reads = {&reads_, 1};
  }
  if (!call.recv.empty()) {
    writes_.array = &call.recv;
    info_.writes = {&writes_, 1};
  }
  id_ = stream_.announce(info_);
}

void Announcement::enqueued() {
  if (id_ != kNoOp) stream_.announced(id_, info_);
}

}  // namespace ringside
