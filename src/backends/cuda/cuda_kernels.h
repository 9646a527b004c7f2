// The kernels that exist on CUDA: the copies and fill. Every other one is the base class's, which
// says that it is missing.
#pragma once

#include "ringside/kernels.h"

namespace ringside::cuda {

class CudaKernels : public Kernels {
 public:
  std::string_view name() const override { return "cuda"; }

  void copy_from_host(LaunchContext& context, const DeviceArray& destination,
                      const void* source) override;
  void copy_to_host(LaunchContext& context, void* destination, const DeviceArray& source) override;
  void copy(LaunchContext& context, const DeviceArray& destination,
            const DeviceArray& source) override;
  void copy_rows(LaunchContext& context, const DeviceArray& destination,
                 std::size_t destination_offset, std::size_t destination_pitch,
                 const DeviceArray& source, std::size_t source_offset, std::size_t source_pitch,
                 std::size_t row_bytes, std::size_t rows) override;
  void fill(LaunchContext& context, const DeviceArray& out, double value) override;
};

}  // namespace ringside::cuda
