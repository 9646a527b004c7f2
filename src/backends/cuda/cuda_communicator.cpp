#include "backends/cuda/cuda_communicator.h"

#include <map>
#include <utility>

#include "backends/cuda/nccl_names.h"
#include "comm/announcement.h"
#include "ringside/error.h"

namespace ringside::cuda {

// Before the call waits in a group: what is not there is said by the call itself.
Work CudaCommunicator::submit(CollectiveCall call, Stream& stream) {
  check_available(call);
  return GroupingCommunicator::submit(std::move(call), stream);
}

void CudaCommunicator::enqueue(std::span<PendingCall> calls) {
  NcclGroup& group = *group_;
  std::vector<RankCall> entering;
  std::vector<std::unique_ptr<Announcement>> announcements;
  std::map<int, std::int64_t> numbers;  // of each rank's next call
  entering.reserve(calls.size());       // announcements refer to its elements
  for (PendingCall& pending : calls) {
    const int rank = pending.communicator->rank();
    const CallSignature signature = signature_on(*pending.communicator, pending.call);
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
    pending.event = stream.record();
  }
}

std::unique_ptr<Communicator> CudaCommunicator::split(int /*color*/, int /*key*/) {
  throw Error(ErrorKind::kUnavailable, "the cuda backend has no split: all its ranks work together",
              "use as many devices as the world has, or the sim backend");
}

}  // namespace ringside::cuda
