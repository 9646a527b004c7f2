// What the ranks of a CUDA world share: their NCCL communicators and the place where they meet.
//
// Threads: any, through the rendezvous, which calls NCCL from one thread at a time and only when
// every rank has come.
#pragma once

#include <nccl.h>

#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/rendezvous.h"
#include "comm/communicator_name.h"
#include "comm/group_queue.h"

namespace ringside::cuda {

class NcclGroup {
 public:
  /// One rank per device, in order (ncclCommInitAll).
  explicit NcclGroup(std::span<CudaDevice* const> devices);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  const CommunicatorName& name() const { return name_; }
  Rendezvous& rendezvous() { return rendezvous_; }
  /// The calls of open groups: of the rank while each has a thread of its own, of all ranks while
  /// one thread drives them.
  GroupQueue& queue(int rank);

 private:
  void enqueue(const Rendezvous::Meetings& meetings);
  void enqueue_call(const PendingCall& pending, ncclComm_t communicator);

  CommunicatorName name_;
  Rendezvous rendezvous_;
  std::vector<ncclComm_t> communicators_;
  std::vector<GroupQueue> queues_;
  GroupQueue driven_queue_;
};

}  // namespace ringside::cuda
