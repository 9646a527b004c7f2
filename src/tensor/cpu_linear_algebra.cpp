// Matrix products and the two loops around a bias.
#include <algorithm>

#include "tensor/cpu_kernel_set.h"
#include "tensor/gemm.h"

namespace ringside {

void CpuKernels::gemm(LaunchContext& context, const DeviceArray& c, const DeviceArray& a,
                      const DeviceArray& b, const GemmOptions& options) {
  const std::int64_t m = c.shape[0];
  const std::int64_t n = c.shape[1];
  const std::int64_t k = a.shape[options.transpose_a ? 0 : 1];
  if (m == 0 || n == 0) return;
  if (k == 0) {  // a sum of nothing
    if (options.beta == 0) return fill(context, c, 0);
    return scale(context, c, c, options.beta);
  }
  visit_floating(c.dtype, [&]<typename T>() {
    ringside::gemm(m, n, k, static_cast<T>(options.alpha),
                   MatrixOperand<T>{a.data<T>(), a.shape[1], options.transpose_a},
                   MatrixOperand<T>{b.data<T>(), b.shape[1], options.transpose_b},
                   static_cast<T>(options.beta), c.data<T>());
  });
}

void CpuKernels::add_bias(LaunchContext&, const DeviceArray& y, const DeviceArray& bias) {
  visit_floating(y.dtype, [&]<typename T>() {
    const std::size_t columns = bias.count();
    const std::size_t rows = columns == 0 ? 0 : y.count() / columns;
    const T* __restrict addend = bias.data<T>();
    for (std::size_t i = 0; i < rows; ++i) {
      T* __restrict row = y.data<T>() + i * columns;
      for (std::size_t j = 0; j < columns; ++j) row[j] += addend[j];
    }
  });
}

void CpuKernels::sum_rows(LaunchContext&, const DeviceArray& out, const DeviceArray& x) {
  visit_floating(out.dtype, [&]<typename T>() {
    const std::size_t columns = out.count();
    const std::size_t rows = columns == 0 ? 0 : x.count() / columns;
    T* __restrict sum = out.data<T>();
    std::fill_n(sum, columns, T(0));
    for (std::size_t i = 0; i < rows; ++i) {
      const T* __restrict row = x.data<T>() + i * columns;
      for (std::size_t j = 0; j < columns; ++j) sum[j] += row[j];
    }
  });
}

}  // namespace ringside
