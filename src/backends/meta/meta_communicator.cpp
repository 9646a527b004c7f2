#include "backends/meta/meta_communicator.h"

#include <utility>

#include "comm/announcement.h"
#include "ringside/error.h"

namespace ringside {

MetaCommunicator::MetaCommunicator(std::shared_ptr<MetaGroup> group, int rank, Device& device,
                                   std::shared_ptr<GroupQueue> queue)
    : group_(std::move(group)), rank_(rank), device_(device), queue_(std::move(queue)) {}

void MetaCommunicator::carry_out(PendingCall& pending) {
  auto& communicator = static_cast<MetaCommunicator&>(*pending.communicator);
  MetaGroup& group = *communicator.group_;
  const CallSignature signature = signature_on(communicator, pending.call);
  const std::int64_t sequence = group.call(communicator.rank_, signature);
  Announcement announcement(*pending.stream, pending.call, signature, group.name(),
                            communicator.rank_, sequence);
  announcement.enqueued();
  pending.event = pending.stream->record();
}

void MetaCommunicator::enqueue(std::span<PendingCall> calls) {
  for (PendingCall& pending : calls) carry_out(pending);
}

std::unique_ptr<Communicator> MetaCommunicator::split(int color, int key) {
  return begin_split(color, key)();
}

std::function<std::unique_ptr<Communicator>()> MetaCommunicator::begin_split(int color, int key) {
  return [this, split = group_->split(rank_, color, key)]() -> std::unique_ptr<Communicator> {
    if (!split->complete()) {
      throw Error(ErrorKind::kUnavailable,
                  "split on meta: the ranks run one after the other, so that the colors of the "
                  "later ranks are not known yet",
                  "use split_all in World::drive, or the sim backend");
    }
    const MetaGroup::Split::Place& place = split->places[static_cast<std::size_t>(rank_)];
    if (!place.group) return nullptr;
    auto communicator =
        std::make_unique<MetaCommunicator>(place.group, place.rank, device_, queue_);
    communicator->set_defaults(defaults());
    return communicator;
  };
}

}  // namespace ringside
