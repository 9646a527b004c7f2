// One GPU: its memory with the same account as on every backend, its three streams, its kernels.
//
// Every call makes the GPU current on the calling thread and leaves it so: one thread may drive
// many. Threads: one at a time, as device.h says; storage may be released on any.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/cuda_memory.h"
#include "backends/cuda/cuda_stream.h"
#include "core/memory_ledger.h"
#include "ringside/device.h"

namespace ringside::cuda {

class CudaDevice : public Device {
 public:
  /// `index` as CUDA counts the visible GPUs; `capacity` in bytes, 0 = unlimited.
  CudaDevice(int rank, int index, std::size_t capacity, bool launch_blocking);
  int rank() const override { return rank_; }
  std::string name() const override { return name_; }
  bool executes() const override { return true; }
  Buffer allocate(std::size_t bytes, MemoryKind kind) override;
  MemoryAccount memory() const override { return ledger_->account(); }
  Stream& stream(StreamKind kind) override { return streams_[static_cast<std::size_t>(kind)]; }
  void synchronize() override;
  Kernels& kernels() override { return kernels_; }

  int index() const { return index_; }
  bool launch_blocking() const { return launch_blocking_; }
  void make_current() const;
  /// After waiting for a stream: see CudaKernels.
  void throw_if_value_reported() { kernels_.throw_if_value_reported(); }

 private:
  int rank_;
  int index_;
  bool launch_blocking_;
  std::string name_;
  std::shared_ptr<MemoryLedger> ledger_;
  std::shared_ptr<Memory> memory_;
  CudaKernels kernels_;
  std::array<CudaStream, 3> streams_;
};

}  // namespace ringside::cuda
