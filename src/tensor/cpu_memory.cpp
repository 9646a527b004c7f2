// Kernels that move bytes: to and from the host, between arrays, and filling.
#include <algorithm>
#include <cstring>

#include "tensor/cpu_kernel_set.h"
#include "tensor/cpu_kernels.h"
#include "tensor/gemm.h"

namespace ringside {
namespace {

/// memmove, which must not be given null, not even for nothing.
void copy_bytes(void* destination, const void* source, std::size_t bytes) {
  if (bytes > 0) std::memmove(destination, source, bytes);
}

}  // namespace

std::unique_ptr<Kernels> make_cpu_kernels() {
  prepare_gemm();
  return std::make_unique<CpuKernels>();
}

void CpuKernels::copy_from_host(LaunchContext&, const DeviceArray& destination,
                                const void* source) {
  copy_bytes(destination.raw(), source, destination.bytes());
}

void CpuKernels::copy_to_host(LaunchContext&, void* destination, const DeviceArray& source) {
  copy_bytes(destination, source.raw(), source.bytes());
}

void CpuKernels::copy(LaunchContext&, const DeviceArray& destination, const DeviceArray& source) {
  copy_bytes(destination.raw(), source.raw(), destination.bytes());
}

void CpuKernels::copy_rows(LaunchContext&, const DeviceArray& destination,
                           std::size_t destination_offset, std::size_t destination_pitch,
                           const DeviceArray& source, std::size_t source_offset,
                           std::size_t source_pitch, std::size_t row_bytes, std::size_t rows) {
  std::byte* to = destination.raw() + destination_offset;
  const std::byte* from = source.raw() + source_offset;
  for (std::size_t row = 0; row < rows; ++row) {
    copy_bytes(to + row * destination_pitch, from + row * source_pitch, row_bytes);
  }
}

void CpuKernels::fill(LaunchContext&, const DeviceArray& out, double value) {
  visit_dtype(out.dtype, [&]<typename T>() {
    std::fill_n(out.data<T>(), out.count(), static_cast<T>(value));
  });
}

}  // namespace ringside
