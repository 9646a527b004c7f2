#include "backends/cuda/cuda_communicator.h"

#include <map>
#include <utility>

#include "backends/cuda/nccl_names.h"
#include "comm/announcement.h"
#include "ringside/error.h"

namespace ringside::cuda {

Work CudaCommunicator::submit(CollectiveCall call, Stream& stream) {
  check_available(call);
  PendingCall pending{this, std::move(call), &stream, std::make_shared<Work::State>()};
  Work work(pending.work);
  if (open_groups_ > 0) {
    group_->queue(rank_).add(std::move(pending));
  } else {
    std::vector<PendingCall> alone;
    alone.push_back(std::move(pending));
    carry_out(*group_, std::move(alone));
  }
  return work;
}

void CudaCommunicator::carry_out(NcclGroup& group, std::vector<PendingCall> calls) {
  std::vector<RankCall> entering;
  std::vector<std::unique_ptr<Announcement>> announcements;
  std::map<int, std::int64_t> numbers;  // of each rank's next call
  entering.reserve(calls.size());       // announcements refer to its elements
  for (PendingCall& pending : calls) {
    const Communicator& communicator = *pending.communicator;
    const int rank = communicator.rank();
    const CallSignature signature =
        signature_of(pending.call, rank, communicator.size(), communicator.defaults());
    const std::int64_t first = group.rendezvous().upcoming(rank);
    const std::int64_t number = numbers.try_emplace(rank, first).first->second++;
    entering.push_back({rank, signature, std::move(pending)});
    const RankCall& call = entering.back();
    announcements.push_back(std::make_unique<Announcement>(
        *call.pending.stream, call.pending.call, call.signature, group.name(), rank, number));
  }
  group.rendezvous().meet(entering);
  for (std::size_t i = 0; i < entering.size(); ++i) {
    PendingCall& pending = entering[i].pending;
    auto& stream = static_cast<CudaStream&>(*pending.stream);
    stream.keep_alive(std::make_shared<CollectiveCall>(pending.call));
    announcements[i]->enqueued();
    pending.work->event = stream.record();
  }
}

void CudaCommunicator::group_start() {
  ++open_groups_;
  group_->queue(rank_).start();
}

void CudaCommunicator::group_end() {
  --open_groups_;
  GroupQueue& queue = group_->queue(rank_);
  if (!queue.end()) return;
  std::vector<PendingCall> calls = queue.take();
  if (!calls.empty()) carry_out(*group_, std::move(calls));
}

void CudaCommunicator::group_cancel() {
  --open_groups_;
  GroupQueue& queue = group_->queue(rank_);
  queue.drop(this);
  queue.end();
}

std::unique_ptr<Communicator> CudaCommunicator::split(int /*color*/, int /*key*/) {
  throw Error(ErrorKind::kUnavailable, "the cuda backend has no split: all its ranks work together",
              "use as many devices as the world has, or the sim backend");
}

}  // namespace ringside::cuda
