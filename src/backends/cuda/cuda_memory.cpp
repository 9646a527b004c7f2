#include "backends/cuda/cuda_memory.h"

#include <fmt/format.h>

#include <cstdint>

#include "backends/cuda/check.h"
#include "ringside/error.h"

namespace ringside::cuda {
namespace {

// Freed blocks stay with the process: giving them back to the driver costs a synchronisation.
void keep_freed_blocks(cudaMemPool_t pool) {
  std::uint64_t threshold = UINT64_MAX;
  RINGSIDE_CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
}

void give_peers_access(cudaMemPool_t pool, int index) {
  int gpus = 0;
  RINGSIDE_CUDA_CHECK(cudaGetDeviceCount(&gpus));
  for (int peer = 0; peer < gpus; ++peer) {
    if (peer == index) continue;
    int reaches = 0;
    RINGSIDE_CUDA_CHECK(cudaDeviceCanAccessPeer(&reaches, peer, index));
    if (reaches == 0) continue;
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = peer;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    RINGSIDE_CUDA_CHECK(cudaMemPoolSetAccess(pool, &access, 1));
  }
}

}  // namespace

Memory::Memory(int index) : index_(index) {
  RINGSIDE_CUDA_CHECK(cudaSetDevice(index_));
  cudaMemPool_t pool = nullptr;
  RINGSIDE_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, index_));
  keep_freed_blocks(pool);
  give_peers_access(pool, index_);
  RINGSIDE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

Memory::~Memory() { static_cast<void>(cudaStreamDestroy(stream_)); }

std::shared_ptr<Storage> Memory::allocate(std::size_t bytes) {
  if (bytes == 0) return std::make_shared<Storage>(nullptr, 0, Storage::Release());
  RINGSIDE_CUDA_CHECK(cudaSetDevice(index_));
  void* data = nullptr;
  const cudaError_t error = cudaMallocAsync(&data, bytes, stream_);
  if (error == cudaErrorMemoryAllocation) {
    clear_cuda_error();
    std::size_t free = 0;
    std::size_t total = 0;
    RINGSIDE_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    throw Error(ErrorKind::kOutOfMemory,
                fmt::format("device cuda:{}: tried to allocate {} bytes, but only {} of the GPU's "
                            "{} bytes are free",
                            index_, bytes, free, total),
                "take a smaller batch or model, or end what else uses this GPU");
  }
  if (error != cudaSuccess) throw_cuda_error(error, "cudaMallocAsync", __FILE__, __LINE__);
  // Only now may every other stream use it.
  RINGSIDE_CUDA_CHECK(cudaStreamSynchronize(stream_));
  return std::make_shared<Storage>(data, bytes, [memory = shared_from_this()](void* block) {
    // A release cannot throw; a broken device has said so, or will, at a synchronisation.
    static_cast<void>(cudaFreeAsync(block, memory->stream_));
  });
}

}  // namespace ringside::cuda
