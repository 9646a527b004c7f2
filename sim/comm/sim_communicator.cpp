#include "sim/comm/sim_communicator.h"

#include <algorithm>
#include <list>
#include <utility>

#include "comm/announcement.h"
#include "sim/comm/meeting.h"

namespace ringside::sim {

// The calls of one stream become one gate: it opens when all of them are over.
void SimCommunicator::enqueue_joint(Stream& stream, std::span<PendingCall> calls) {
  const auto joint = std::make_shared<JointCall>();
  std::list<Announcement> announcements;
  Engine* engine = nullptr;
  for (PendingCall& pending : calls) {
    const auto& communicator = static_cast<SimCommunicator&>(*pending.communicator);
    SimGroup& group = *communicator.group_;
    engine = &group.context().engine;
    const CallSignature signature = signature_of(pending.call, communicator.rank_,
                                                 communicator.size(), communicator.defaults());
    const SimGroup::Entry entry = group.enter(communicator.rank_, pending.call, signature, joint);
    joint->add(communicator.group_, entry.meeting, entry.side);
    if (stream.device().listener() == nullptr) continue;
    announcements.emplace_back(stream, pending.call, signature, group.name(), communicator.rank_,
                               entry.meeting->sequence());
  }
  // The engine drops what it does not run any more when the world ends.
  const std::shared_ptr<JointCall> visit(joint.get(), [joint](JointCall*) { joint->forget(); });
  engine->enqueue_gate(stream, [visit](const Gate& gate) { visit->reached(gate); });
  for (Announcement& announcement : announcements) announcement.enqueued();
  const std::shared_ptr<Event> event = stream.record();
  for (PendingCall& pending : calls) pending.work->event = event;
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
  const std::shared_ptr<Latch> latch = group_->context().engine.make_latch();
  const std::shared_ptr<Meeting> meeting = group_->enter_split(rank_, color, key, latch);
  return [this, latch, meeting]() -> std::unique_ptr<Communicator> {
    latch->synchronize();
    const Meeting::Place& place = meeting->places[static_cast<std::size_t>(rank_)];
    if (!place.group) return nullptr;
    auto communicator = std::make_unique<SimCommunicator>(place.group, place.rank, device_, queue_);
    communicator->set_defaults(defaults());
    return communicator;
  };
}

}  // namespace ringside::sim
