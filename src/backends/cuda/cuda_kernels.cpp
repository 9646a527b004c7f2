#include "backends/cuda/cuda_kernels.h"

#include "backends/cuda/check.h"
#include "backends/cuda/native_stream.h"

namespace ringside::cuda {
namespace {

int device_of(const void* data) {
  cudaPointerAttributes attributes{};
  RINGSIDE_CUDA_CHECK(cudaPointerGetAttributes(&attributes, data));
  return attributes.device;
}

}  // namespace

void CudaKernels::copy_from_host(LaunchContext& context, const DeviceArray& destination,
                                 const void* source) {
  if (destination.bytes() == 0) return;
  RINGSIDE_CUDA_CHECK(cudaMemcpyAsync(destination.raw(), source, destination.bytes(),
                                      cudaMemcpyHostToDevice, stream_of(context)));
}

void CudaKernels::copy_to_host(LaunchContext& context, void* destination,
                               const DeviceArray& source) {
  if (source.bytes() == 0) return;
  RINGSIDE_CUDA_CHECK(cudaMemcpyAsync(destination, source.raw(), source.bytes(),
                                      cudaMemcpyDeviceToHost, stream_of(context)));
}

void CudaKernels::copy(LaunchContext& context, const DeviceArray& destination,
                       const DeviceArray& source) {
  const std::size_t bytes = destination.bytes();
  if (bytes == 0) return;
  const int from = device_of(source.raw());
  const int to = device_of(destination.raw());
  if (from == to) {
    RINGSIDE_CUDA_CHECK(cudaMemcpyAsync(destination.raw(), source.raw(), bytes,
                                        cudaMemcpyDeviceToDevice, stream_of(context)));
  } else {
    RINGSIDE_CUDA_CHECK(
        cudaMemcpyPeerAsync(destination.raw(), to, source.raw(), from, bytes, stream_of(context)));
  }
}

// cudaMemcpyDefault: unified addressing finds out on which device each side lies.
void CudaKernels::copy_rows(LaunchContext& context, const DeviceArray& destination,
                            std::size_t destination_offset, std::size_t destination_pitch,
                            const DeviceArray& source, std::size_t source_offset,
                            std::size_t source_pitch, std::size_t row_bytes, std::size_t rows) {
  if (row_bytes == 0 || rows == 0) return;
  std::byte* to = destination.raw() + destination_offset;
  const std::byte* from = source.raw() + source_offset;
  if (rows == 1) {  // pitches mean nothing, and may be less than the row, which 2D copies refuse
    RINGSIDE_CUDA_CHECK(
        cudaMemcpyAsync(to, from, row_bytes, cudaMemcpyDefault, stream_of(context)));
    return;
  }
  RINGSIDE_CUDA_CHECK(cudaMemcpy2DAsync(to, destination_pitch, from, source_pitch, row_bytes, rows,
                                        cudaMemcpyDefault, stream_of(context)));
}

}  // namespace ringside::cuda
