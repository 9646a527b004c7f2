// cuBLAS handles: one per stream of a device, each with a workspace of its own.
//
// Products are deterministic: no atomics, and no two streams share a workspace. float32 is computed
// in float32 (neither TF32 nor emulation), whatever the environment says. Threads: one at a time,
// the device's.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cuda/cublas_library.h"
#include "backends/cuda/matrix_product.h"

namespace ringside::cuda {

/// Products of `count` matrices each; the next one of an operand lies `step` elements further.
struct Batch {
  std::int64_t count = 1;
  std::int64_t first_step = 0, second_step = 0, result_step = 0;
};

class CublasHandles {
 public:
  /// Loads cuBLAS.
  CublasHandles();
  ~CublasHandles();
  CublasHandles(const CublasHandles&) = delete;
  CublasHandles& operator=(const CublasHandles&) = delete;

  /// result = alpha first second + beta result, column-major, on the stream. The first product on a
  /// stream makes its handle. Throws Error(kDevice) with cuBLAS's words.
  void multiply(cudaStream_t stream, const ColumnMajorProduct& product, const Batch& batch,
                float alpha, const float* first, const float* second, float beta, float* result);
  void multiply(cudaStream_t stream, const ColumnMajorProduct& product, const Batch& batch,
                double alpha, const double* first, const double* second, double beta,
                double* result);

 private:
  struct OfStream;
  cublasHandle_t handle(cudaStream_t stream);

  const CublasLibrary& library_;
  std::vector<std::unique_ptr<OfStream>> streams_;
};

}  // namespace ringside::cuda
