#include "backends/cuda/cublas_handles.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "backends/cuda/check.h"
#include "ringside/error.h"

namespace ringside::cuda {
namespace {

// What NVIDIA recommends for the largest GPUs; less could change the algorithm and with it the
// order of additions.
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

void check(const CublasLibrary& library, cublasStatus_t status, std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ErrorKind::kDevice,
              fmt::format("cuBLAS: {}: {}", call, library.status_string(status)),
              "run again with CUBLAS_LOGINFO_DBG=1 and CUBLAS_LOGDEST_DBG=stderr to see its calls");
}

cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

}  // namespace

struct CublasHandles::OfStream {
  OfStream(const CublasLibrary& cublas, cudaStream_t native) : library(cublas), stream(native) {}
  // Not in the constructor, so that a failure half way leaves nothing behind.
  void open() {
    check(library, library.create(&handle), "cublasCreate");
    RINGSIDE_CUDA_CHECK(cudaMallocAsync(&workspace, kWorkspaceBytes, stream));
    check(library, library.set_stream(handle, stream), "cublasSetStream");
    // Only now: setting the stream takes the workspace away.
    check(library, library.set_workspace(handle, workspace, kWorkspaceBytes), "cublasSetWorkspace");
    check(library, library.set_math_mode(handle, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
    check(library, library.set_atomics_mode(handle, CUBLAS_ATOMICS_NOT_ALLOWED),
          "cublasSetAtomicsMode");
  }
  // The stream may be gone; both calls wait for the work that is left.
  ~OfStream() {
    if (handle != nullptr) static_cast<void>(library.destroy(handle));
    if (workspace != nullptr) static_cast<void>(cudaFree(workspace));
  }
  OfStream(const OfStream&) = delete;
  OfStream& operator=(const OfStream&) = delete;

  const CublasLibrary& library;
  cudaStream_t stream;
  cublasHandle_t handle = nullptr;
  void* workspace = nullptr;
};

CublasHandles::CublasHandles() : library_(cublas()) {}
CublasHandles::~CublasHandles() = default;

cublasHandle_t CublasHandles::handle(cudaStream_t stream) {
  for (const auto& of_stream : streams_) {
    if (of_stream->stream == stream) return of_stream->handle;
  }
  auto of_stream = std::make_unique<OfStream>(library_, stream);
  of_stream->open();
  streams_.push_back(std::move(of_stream));
  return streams_.back()->handle;
}

void CublasHandles::multiply(cudaStream_t stream, const ColumnMajorProduct& product,
                             const Batch& batch, float alpha, const float* first,
                             const float* second, float beta, float* result) {
  check(library_,
        library_.multiply_float(handle(stream), operation(product.transpose_first),
                                operation(product.transpose_second), product.m, product.n,
                                product.k, &alpha, first, product.first_stride, batch.first_step,
                                second, product.second_stride, batch.second_step, &beta, result,
                                product.result_stride, batch.result_step, batch.count),
        "cublasSgemmStridedBatched");
}

void CublasHandles::multiply(cudaStream_t stream, const ColumnMajorProduct& product,
                             const Batch& batch, double alpha, const double* first,
                             const double* second, double beta, double* result) {
  check(library_,
        library_.multiply_double(handle(stream), operation(product.transpose_first),
                                 operation(product.transpose_second), product.m, product.n,
                                 product.k, &alpha, first, product.first_stride, batch.first_step,
                                 second, product.second_stride, batch.second_step, &beta, result,
                                 product.result_stride, batch.result_step, batch.count),
        "cublasDgemmStridedBatched");
}

}  // namespace ringside::cuda
