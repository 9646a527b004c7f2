// A rank's communicator: all-reduce and broadcast by NCCL. Threads: as comm.h says.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/nccl_group.h"
#include "ringside/comm.h"

namespace ringside::cuda {

class CudaCommunicator : public Communicator {
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
  void group_start() override;
  void group_end() override;
  void group_cancel() override;

 private:
  static void carry_out(NcclGroup& group, std::vector<PendingCall> calls);

  std::shared_ptr<NcclGroup> group_;
  int rank_;
  CudaDevice& device_;
  int open_groups_ = 0;
};

}  // namespace ringside::cuda
