#include <algorithm>
#include <cstdint>

#include "backends/cuda/fill.h"

namespace ringside::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMostBlocks = 4096;  // fills every GPU; a thread then takes more elements

template <typename T>
__global__ void fill_kernel(T* out, std::size_t count, T value) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    out[i] = value;
  }
}

template <typename T>
cudaError_t fill_with(cudaStream_t stream, T* out, std::size_t count, T value) {
  const std::size_t blocks = std::min((count + kThreads - 1) / kThreads, kMostBlocks);
  fill_kernel<T><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(out, count, value);
  return cudaGetLastError();
}

template <typename T>
cudaError_t fill_as(cudaStream_t stream, void* out, std::size_t count, double value) {
  return fill_with(stream, static_cast<T*>(out), count, static_cast<T>(value));
}

}  // namespace

cudaError_t launch_fill(cudaStream_t stream, void* out, std::size_t count, DType dtype,
                        double value) {
  switch (dtype) {
    case DType::kFloat32:
      return fill_as<float>(stream, out, count, value);
    case DType::kFloat64:
      return fill_as<double>(stream, out, count, value);
    case DType::kInt32:
      return fill_as<std::int32_t>(stream, out, count, value);
    case DType::kInt64:
      return fill_as<std::int64_t>(stream, out, count, value);
    case DType::kUInt8:
      return fill_as<std::uint8_t>(stream, out, count, value);
    case DType::kFloat16:
      return fill_with(stream, static_cast<std::uint16_t*>(out), count, Float16(value).bits());
    case DType::kBFloat16:
      return fill_with(stream, static_cast<std::uint16_t*>(out), count, BFloat16(value).bits());
  }
  return cudaErrorInvalidValue;
}

}  // namespace ringside::cuda
