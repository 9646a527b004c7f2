#include "backends/cuda/cuda_device.h"

#include <fmt/format.h>

#include <utility>

#include "backends/cuda/check.h"

namespace ringside::cuda {
namespace {

std::string name_of(int index) {
  cudaDeviceProp properties{};
  RINGSIDE_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  return fmt::format("cuda:{} ({})", index, properties.name);
}

}  // namespace

CudaDevice::CudaDevice(int rank, int index, std::size_t capacity, bool launch_blocking)
    : rank_(rank),
      index_(index),
      launch_blocking_(launch_blocking),
      name_(name_of(index)),
      ledger_(std::make_shared<MemoryLedger>(name_, capacity)),
      memory_(std::make_shared<Memory>(index)),
      streams_{CudaStream{*this, StreamKind::kCompute}, CudaStream{*this, StreamKind::kCopy},
               CudaStream{*this, StreamKind::kCommunication}} {}

void CudaDevice::make_current() const { RINGSIDE_CUDA_CHECK(cudaSetDevice(index_)); }

Buffer CudaDevice::allocate(std::size_t bytes, MemoryKind kind) {
  std::shared_ptr<void> charge = ledger_->charge(bytes, kind);
  return {memory_->allocate(bytes), std::move(charge)};
}

void CudaDevice::synchronize() {
  for (CudaStream& stream : streams_) stream.synchronize();
}

}  // namespace ringside::cuda
