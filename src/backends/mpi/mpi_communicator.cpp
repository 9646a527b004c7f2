#include "backends/mpi/mpi_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "comm/announcement.h"
#include "comm/call_slot.h"
#include "comm/rank_buffers.h"
#include "comm/stepwise.h"
#include "ringside/error.h"

namespace ringside::mpi {
namespace {

std::vector<int> others(const Channel& channel) {
  std::vector<int> ranks;
  for (int rank = 0; rank < channel.size(); ++rank) {
    if (rank != channel.rank()) ranks.push_back(rank);
  }
  return ranks;
}

[[noreturn]] void fail_poisoned(int rank, const std::string& call) {
  throw Error(ErrorKind::kRankFailed,
              fmt::format("{}: rank {} came to it with a failed device", call, rank));
}

/// All ranks must have made the same call, on working devices; every rank comes to the same
/// verdict.
void agree(Channel& channel, const Declaration& own) {
  const std::vector<int> partners = others(channel);
  channel.declare(own, partners, kCollectiveTag);
  const std::vector<Declaration> heard = channel.hear(own, partners, kCollectiveTag);
  std::vector<CallSignature> calls(static_cast<std::size_t>(channel.size()), own.signature);
  int poisoned = own.poisoned ? channel.rank() : -1;
  for (std::size_t i = 0; i < partners.size(); ++i) {
    calls[static_cast<std::size_t>(partners[i])] = heard[i].signature;
    if (heard[i].poisoned) poisoned = partners[i];
  }
  if (const auto mismatch = find_mismatch(channel.name(), own.sequence, calls)) throw *mismatch;
  if (poisoned >= 0) fail_poisoned(poisoned, to_string(own.signature));
}

void run_collective(Channel& channel, const CollectiveCall& call, const Declaration& own) {
  agree(channel, own);
  const Schedule schedule = make_schedule(own.signature.request);
  MpiTransport transport(channel);
  run_stepwise(schedule, own.signature.op, channel.rank(),
               rank_buffers(schedule, call, channel.rank()), transport);
}

}  // namespace

MpiCommunicator::MpiCommunicator(Shared& shared, MPI_Comm comm, CommunicatorName name)
    : shared_(shared), channel_(std::make_shared<Channel>(shared.session, comm, std::move(name))) {}

/// Calls that were enqueued together: they wait for one gate.
struct MpiCommunicator::Joint : sim::GateKeeper {
  std::vector<Numbered> calls;
  std::shared_ptr<void> hold;  // no deadlock is declared while other processes may still answer
  std::mutex mutex;
  std::condition_variable changed;
  bool told = false;
  std::optional<sim::Gate> gate;  // none if the world is being closed

  void reached(sim::Gate at) override { tell(std::move(at)); }
  void dropped() override { tell(std::nullopt); }
  void tell(std::optional<sim::Gate> at) {
    {
      const std::lock_guard lock(mutex);
      gate = std::move(at);
      told = true;
    }
    changed.notify_one();
  }
  void wait_until_told() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return told; });
  }
};

MpiCommunicator::Numbered MpiCommunicator::number(const CollectiveCall& call) {
  Numbered numbered{channel_, call, signature_on(*this, call), 0};
  const ScheduleRequest& request = numbered.signature.request;
  numbered.sequence =
      is_pair(call.operation) ? ++messages_[{request.root, request.peer}] : ++collectives_;
  return numbered;
}

void MpiCommunicator::enqueue(std::span<PendingCall> calls) {
  for_each_stream(calls, [this](Stream& stream, std::span<PendingCall> together) {
    enqueue_joint(stream, together);
  });
}

// The calls of a group on one stream are one joint operation.
void MpiCommunicator::enqueue_joint(Stream& stream, std::span<PendingCall> calls) {
  auto joint = std::make_shared<Joint>();
  std::vector<std::unique_ptr<Announcement>> announcements;
  joint->calls.reserve(calls.size());
  for (const PendingCall& pending : calls) {
    auto& communicator = static_cast<MpiCommunicator&>(*pending.communicator);
    joint->calls.push_back(communicator.number(pending.call));
    const Numbered& numbered = joint->calls.back();
    announcements.push_back(std::make_unique<Announcement>(
        stream, numbered.call, numbered.signature, numbered.channel->name(), communicator.rank(),
        numbered.sequence));
  }
  joint->hold = shared_.engine.hold();
  shared_.engine.enqueue_gate(stream, joint);
  shared_.progress.post([joint] {
    joint->wait_until_told();
    if (joint->gate) {
      Failure failure;
      try {
        execute(joint->calls, joint->gate->poison() != nullptr);
      } catch (...) {
        failure = to_failure(std::current_exception());
      }
      joint->gate->complete(failure);
    }
    joint->hold.reset();
  });
  for (const auto& announcement : announcements) announcement->enqueued();
  for (PendingCall& pending : calls) pending.event = stream.record();
}

// Sends and receives progress together, around the collectives: all are declared, then checked,
// then begun, and finished last.
void MpiCommunicator::execute(const std::vector<Numbered>& calls, bool poisoned) {
  for (const Numbered& numbered : calls) {
    if (!is_pair(numbered.call.operation)) continue;
    const bool sends = numbered.call.operation == Operation::kSend;
    numbered.channel->declare({numbered.signature, numbered.sequence, poisoned},
                              {numbered.call.peer}, sends ? kSenderTag : kReceiverTag);
  }
  for (const Numbered& numbered : calls) {
    if (!is_pair(numbered.call.operation)) continue;
    Channel& channel = *numbered.channel;
    const bool sends = numbered.call.operation == Operation::kSend;
    const Declaration own{numbered.signature, numbered.sequence, poisoned};
    const Declaration theirs =
        channel.hear(own, {numbered.call.peer}, sends ? kReceiverTag : kSenderTag).front();
    if (const auto mismatch = find_pair_mismatch(channel.name(), own.sequence,
                                                 sends ? own.signature : theirs.signature,
                                                 sends ? theirs.signature : own.signature)) {
      throw *mismatch;
    }
    if (poisoned || theirs.poisoned) {
      fail_poisoned(poisoned ? channel.rank() : numbered.call.peer, pair_text(own.signature));
    }
    const std::size_t bytes = numbered.call.count * size_of(numbered.call.dtype);
    if (sends) {
      channel.start_send(numbered.call.peer, {numbered.call.send.raw(), bytes}, kPairTag);
    } else {
      channel.start_receive(numbered.call.peer, {numbered.call.recv.raw(), bytes}, kPairTag);
    }
  }
  for (const Numbered& numbered : calls) {
    if (is_pair(numbered.call.operation)) continue;
    run_collective(*numbered.channel, numbered.call,
                   {numbered.signature, numbered.sequence, poisoned});
  }
  for (const Numbered& numbered : calls) numbered.channel->finish();
}

std::unique_ptr<Communicator> MpiCommunicator::split(int color, int key) {
  const Declaration own{split_signature(size()), ++collectives_, false};
  std::vector<int> colors(static_cast<std::size_t>(size()));
  std::vector<int> keys(colors.size());
  MPI_Comm part = MPI_COMM_NULL;
  shared_.progress.call([&] {
    agree(*channel_, own);
    check(MPI_Allgather(&color, 1, MPI_INT, colors.data(), 1, MPI_INT, channel_->comm()),
          "MPI_Allgather");
    check(MPI_Allgather(&key, 1, MPI_INT, keys.data(), 1, MPI_INT, channel_->comm()),
          "MPI_Allgather");
    check(MPI_Comm_split(channel_->comm(), color < 0 ? MPI_UNDEFINED : color, key, &part),
          "MPI_Comm_split");
  });
  std::unique_ptr<Communicator> mine;
  for (const SplitGroup& group : split_groups(colors, keys)) {
    ++splits_;
    if (color < 0 || group.color != color) continue;
    mine = std::make_unique<MpiCommunicator>(shared_, part,
                                             child_of(channel_->name(), splits_, group.members));
    mine->set_defaults(defaults());
  }
  return mine;
}

}  // namespace ringside::mpi
