#include "sim/comm/sim_communicator.h"

#include <algorithm>
#include <list>
#include <memory_resource>
#include <utility>

#include "comm/announcement.h"
#include "sim/comm/meeting.h"

namespace ringside::sim {

// The calls of one stream become one gate: it opens when all of them are over.
void SimCommunicator::enqueue_joint(Stream& stream, std::span<PendingCall> calls) {
  const auto& first = static_cast<SimCommunicator&>(*calls.front().communicator);
  const std::pmr::polymorphic_allocator<> handles(&stream.device().host_memory());
  const auto joint = std::allocate_shared<JointCall>(handles);
  std::list<Announcement> announcements;
  try {
    for (PendingCall& pending : calls) enter(stream, pending, joint, announcements);
    first.group_->context().engine.enqueue_gate(stream, joint);
  } catch (...) {
    joint->dropped();
    throw;
  }
  for (Announcement& announcement : announcements) announcement.enqueued();
  const std::shared_ptr<Event> event = stream.record();
  for (PendingCall& pending : calls) pending.event = event;
}

void SimCommunicator::enter(Stream& stream, PendingCall& pending,
                            const std::shared_ptr<JointCall>& joint,
                            std::list<Announcement>& announcements) {
  auto& communicator = static_cast<SimCommunicator&>(*pending.communicator);
  SimGroup& group = *communicator.group_;
  const bool announced = stream.device().listener() != nullptr;
  const CallSignature signature = signature_on(communicator, pending.call);
  CollectiveCall call = announced ? pending.call : std::move(pending.call);
  const SimGroup::Entry entry = group.enter(communicator.rank_, std::move(call), signature, joint);
  joint->add(communicator.group_, entry.meeting, entry.side);
  if (!announced) return;
  announcements.emplace_back(stream, pending.call, signature, group.name(), communicator.rank_,
                             entry.sequence);
}

SimCommunicator::SimCommunicator(std::shared_ptr<SimGroup> group, int rank, Device& device,
                                 std::shared_ptr<GroupQueue> queue)
    : group_(std::move(group)), rank_(rank), device_(device), queue_(std::move(queue)) {}

void SimCommunicator::enqueue(std::span<PendingCall> calls) {
  for_each_stream(calls, enqueue_joint);
}

std::unique_ptr<Communicator> SimCommunicator::split(int color, int key) {
  return begin_split(color, key)();
}

std::function<std::unique_ptr<Communicator>()> SimCommunicator::begin_split(int color, int key) {
  const auto answer = std::make_shared<SplitAnswer>();
  answer->latch = group_->context().engine.make_latch();
  group_->enter_split(rank_, color, key, answer);
  return [this, answer]() -> std::unique_ptr<Communicator> {
    answer->latch->synchronize();
    const SplitPlace& place = answer->place;
    if (!place.group) return nullptr;
    auto communicator = std::make_unique<SimCommunicator>(place.group, place.rank, device_, queue_);
    communicator->set_defaults(defaults());
    return communicator;
  };
}

}  // namespace ringside::sim
