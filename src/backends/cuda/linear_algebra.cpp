// Matrix products, through cuBLAS.
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/floating.h"
#include "backends/cuda/native_stream.h"

namespace ringside::cuda {
namespace {

template <typename T>
void multiply(CublasHandles& handles, const LaunchContext& context, const DeviceArray& c,
              const DeviceArray& a, const DeviceArray& b, const GemmOptions& options) {
  const std::int64_t k = a.shape[options.transpose_a ? 0 : 1];
  const ColumnMajorProduct product =
      column_major(c.shape[0], c.shape[1], k, {a.shape[1], options.transpose_a},
                   {b.shape[1], options.transpose_b});
  handles.multiply(stream_of(context), product, {}, static_cast<T>(options.alpha), b.data<T>(),
                   a.data<T>(), static_cast<T>(options.beta), c.data<T>());
}

}  // namespace

void CudaKernels::gemm(LaunchContext& context, const DeviceArray& c, const DeviceArray& a,
                       const DeviceArray& b, const GemmOptions& options) {
  if (c.count() == 0) return;
  if (a.count() == 0) {  // a sum of nothing
    if (options.beta == 0) return fill(context, c, 0);
    return scale(context, c, c, options.beta);
  }
  if (c.dtype == DType::kFloat32) return multiply<float>(cublas_, context, c, a, b, options);
  if (c.dtype == DType::kFloat64) return multiply<double>(cublas_, context, c, a, b, options);
  refuse_dtype(c.dtype, "float32 and float64");
}

}  // namespace ringside::cuda
