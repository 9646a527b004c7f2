#include "backends/cuda/nccl_group.h"

#include <numeric>

#include "backends/cuda/check.h"
#include "backends/cuda/nccl_names.h"

namespace ringside::cuda {
namespace {

CommunicatorName world_of(std::size_t ranks) {
  std::vector<int> world_ranks(ranks);
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  return {0, std::move(world_ranks)};
}

/// ncclGroupStart and ncclGroupEnd, which must follow also when a call between them fails.
class NcclScope {
 public:
  NcclScope() { RINGSIDE_NCCL_CHECK(ncclGroupStart()); }
  ~NcclScope() {
    if (open_) static_cast<void>(ncclGroupEnd());
  }
  NcclScope(const NcclScope&) = delete;
  NcclScope& operator=(const NcclScope&) = delete;
  void end() {
    open_ = false;
    RINGSIDE_NCCL_CHECK(ncclGroupEnd());
  }

 private:
  bool open_ = true;
};

// An error that NCCL met after an earlier call had returned.
void check_earlier_calls(ncclComm_t communicator) {
  ncclResult_t earlier = ncclSuccess;
  RINGSIDE_NCCL_CHECK(ncclCommGetAsyncError(communicator, &earlier));
  if (earlier != ncclSuccess) throw_nccl_error(earlier, "an earlier call", __FILE__, __LINE__);
}

}  // namespace

NcclGroup::NcclGroup(std::span<CudaDevice* const> devices)
    : name_(world_of(devices.size())),
      rendezvous_(name_, [this](const Rendezvous::Meetings& meetings) { enqueue(meetings); }),
      communicators_(devices.size()),
      queues_(devices.size()) {
  std::vector<int> indices;
  for (const CudaDevice* device : devices) indices.push_back(device->index());
  RINGSIDE_NCCL_CHECK(
      ncclCommInitAll(communicators_.data(), static_cast<int>(indices.size()), indices.data()));
}

NcclGroup::~NcclGroup() {
  for (ncclComm_t communicator : communicators_) static_cast<void>(ncclCommDestroy(communicator));
}

GroupQueue& NcclGroup::queue(int rank) {
  return rendezvous_.running() ? queues_[static_cast<std::size_t>(rank)] : driven_queue_;
}

void NcclGroup::enqueue(const Rendezvous::Meetings& meetings) {
  for (ncclComm_t communicator : communicators_) check_earlier_calls(communicator);
  NcclScope scope;
  for (const auto& meeting : meetings) {
    for (std::size_t rank = 0; rank < communicators_.size(); ++rank) {
      enqueue_call(meeting->calls[rank], communicators_[rank]);
    }
  }
  scope.end();
}

void NcclGroup::enqueue_call(const PendingCall& pending, ncclComm_t communicator) {
  const CollectiveCall& call = pending.call;
  if (call.count == 0) return;
  const cudaStream_t stream = static_cast<const CudaStream*>(pending.stream)->native();
  const ncclDataType_t type = nccl_type(call.dtype);
  void* recv = call.recv.raw();
  if (call.operation == Operation::kAllReduce) {
    RINGSIDE_NCCL_CHECK(ncclAllReduce(call.send.raw(), recv, call.count, type, nccl_op(call.op),
                                      communicator, stream));
  } else {
    const void* send = call.send.empty() ? recv : call.send.raw();  // read on the root only
    RINGSIDE_NCCL_CHECK(
        ncclBroadcast(send, recv, call.count, type, call.root, communicator, stream));
  }
}

}  // namespace ringside::cuda
