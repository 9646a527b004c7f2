// A rank's communicator: all-reduce and broadcast by NCCL. Threads: as comm.h says.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/nccl_group.h"
#include "comm/grouping_communicator.h"

namespace ringside::cuda {

class CudaCommunicator : public GroupingCommunicator {
 public:
  CudaCommunicator(std::shared_ptr<NcclGroup> group, int rank, CudaDevice& device)
      : group_(std::move(group)), rank_(rank), device_(device) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_ranks().size()); }
  std::span<const int> world_ranks() const override { return group_->name().world_ranks; }
  Device& device() override { return device_; }
  /// Error(kUnavailable).
  std::unique_ptr<Communicator> split(int color, int key) override;

 protected:
  Work submit(CollectiveCall call, Stream& stream) override;
  GroupQueue& queue() override { return group_->queue(rank_); }
  void enqueue(std::span<PendingCall> calls) override;

 private:
  std::shared_ptr<NcclGroup> group_;
  int rank_;
  CudaDevice& device_;
};

}  // namespace ringside::cuda
