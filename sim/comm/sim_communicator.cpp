#include "sim/comm/sim_communicator.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "comm/announcement.h"
#include "sim/comm/meeting.h"

namespace ringside::sim {

// The calls of one stream become one gate: it opens when all of them are over.
void enqueue_joint(Stream& stream, std::span<PendingCall> calls) {
  const auto joint = std::make_shared<JointCall>();
  std::deque<Announcement> announcements;
  std::vector<CallSignature> signatures;
  signatures.reserve(calls.size());
  Engine* engine = nullptr;
  for (PendingCall& pending : calls) {
    const auto& communicator = static_cast<SimCommunicator&>(*pending.communicator);
    SimGroup& group = *communicator.group_;
    engine = &group.context().engine;
    const CallSignature& signature = signatures.emplace_back(signature_of(
        pending.call, communicator.rank_, communicator.size(), communicator.defaults()));
    const SimGroup::Entry entry = group.enter(communicator.rank_, pending.call, signature, joint);
    joint->add(communicator.group_, entry.meeting, entry.side);
    announcements.emplace_back(stream, pending.call, signature, group.name(), communicator.rank_,
                               entry.meeting->sequence());
  }
  engine->enqueue_gate(stream, [joint](const Gate& gate) { joint->reached(gate); });
  for (Announcement& announcement : announcements) announcement.enqueued();
  const std::shared_ptr<Event> event = stream.record();
  for (PendingCall& pending : calls) pending.work->event = event;
}

SimCommunicator::SimCommunicator(std::shared_ptr<SimGroup> group, int rank, Device& device,
                                 std::shared_ptr<GroupQueue> queue)
    : group_(std::move(group)), rank_(rank), device_(device), queue_(std::move(queue)) {}

Work SimCommunicator::submit(CollectiveCall call, Stream& stream) {
  PendingCall pending{this, std::move(call), &stream, std::make_shared<Work::State>()};
  Work work(pending.work);
  if (open_groups_ > 0) {
    queue_->add(std::move(pending));
  } else {
    enqueue_joint(stream, {&pending, 1});
  }
  return work;
}

void SimCommunicator::group_start() {
  ++open_groups_;
  queue_->start();
}

void SimCommunicator::group_end() {
  --open_groups_;
  if (!queue_->end()) return;
  std::vector<PendingCall> calls = queue_->take();
  // Calls of one stream side by side; streams in the order of their first call.
  for (auto begin = calls.begin(); begin != calls.end();) {
    Stream* stream = begin->stream;
    const auto end = std::stable_partition(
        begin, calls.end(), [&](const PendingCall& call) { return call.stream == stream; });
    enqueue_joint(*stream, {begin, end});
    begin = end;
  }
}

void SimCommunicator::group_cancel() {
  --open_groups_;
  queue_->drop(this);
  queue_->end();
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
