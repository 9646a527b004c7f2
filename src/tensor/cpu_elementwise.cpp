// Elementwise kernels. Bound by memory: one pass, no branches that a compiler cannot turn into
// selects.
#include <cmath>
#include <numbers>

#include "tensor/cpu_kernel_set.h"
#include "tensor/vector_math.h"

namespace ringside {

void CpuKernels::add(LaunchContext&, const DeviceArray& out, double alpha, const DeviceArray& a,
                     double beta, const DeviceArray& b) {
  visit_dtype(out.dtype, [&]<typename T>() {
    // Not __restrict: out may be a or b.
    T* sum = out.data<T>();
    const T* left = a.data<T>();
    const T* right = b.data<T>();
    const T left_factor = static_cast<T>(alpha);
    const T right_factor = static_cast<T>(beta);
    const std::size_t count = out.count();
    for (std::size_t i = 0; i < count; ++i) {
      sum[i] = static_cast<T>(left_factor * left[i] + right_factor * right[i]);
    }
  });
}

void CpuKernels::scale(LaunchContext&, const DeviceArray& out, const DeviceArray& a,
                       double factor) {
  visit_floating(out.dtype, [&]<typename T>() {
    T* scaled = out.data<T>();
    const T* values = a.data<T>();
    const T rounded = static_cast<T>(factor);
    const std::size_t count = out.count();
    for (std::size_t i = 0; i < count; ++i) scaled[i] = values[i] * rounded;
  });
}

void CpuKernels::relu(LaunchContext&, const DeviceArray& y, const DeviceArray& x) {
  visit_floating(y.dtype, [&]<typename T>() {
    T* out = y.data<T>();
    const T* in = x.data<T>();
    const std::size_t count = y.count();
    // Written so that NaN stays NaN, as in PyTorch.
    for (std::size_t i = 0; i < count; ++i) out[i] = in[i] <= T(0) ? T(0) : in[i];
  });
}

void CpuKernels::relu_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                               const DeviceArray& y) {
  visit_floating(dx.dtype, [&]<typename T>() {
    T* out = dx.data<T>();
    const T* gradient = dy.data<T>();
    const T* activation = y.data<T>();
    const std::size_t count = dx.count();
    for (std::size_t i = 0; i < count; ++i) {
      const T passed = gradient[i];  // loaded in any case, so that the choice is a select
      out[i] = activation[i] <= T(0) ? T(0) : passed;
    }
  });
}

void CpuKernels::tanh(LaunchContext&, const DeviceArray& y, const DeviceArray& x) {
  visit_floating(y.dtype, [&]<typename T>() {
    T* __restrict out = y.data<T>();
    const T* __restrict in = x.data<T>();
    const std::size_t count = y.count();
    for (std::size_t i = 0; i < count; ++i) out[i] = vector_tanh(in[i]);
  });
}

void CpuKernels::tanh_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                               const DeviceArray& y) {
  visit_floating(dx.dtype, [&]<typename T>() {
    T* out = dx.data<T>();
    const T* gradient = dy.data<T>();
    const T* activation = y.data<T>();
    const std::size_t count = dx.count();
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = gradient[i] * (T(1) - activation[i] * activation[i]);
    }
  });
}

void CpuKernels::gelu(LaunchContext&, const DeviceArray& y, const DeviceArray& x) {
  visit_floating(y.dtype, [&]<typename T>() {
    constexpr T kInverseRoot2 = T(1) / std::numbers::sqrt2_v<T>;
    T* __restrict out = y.data<T>();
    const T* __restrict in = x.data<T>();
    const std::size_t count = y.count();
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = T(0.5) * in[i] * (T(1) + vector_erf(in[i] * kInverseRoot2));
    }
  });
}

void CpuKernels::gelu_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                               const DeviceArray& x) {
  visit_floating(dx.dtype, [&]<typename T>() {
    constexpr T kInverseRoot2 = T(1) / std::numbers::sqrt2_v<T>;
    constexpr T kInverseRoot2Pi = std::numbers::inv_sqrtpi_v<T> * kInverseRoot2;
    T* __restrict out = dx.data<T>();
    const T* __restrict gradient = dy.data<T>();
    const T* __restrict in = x.data<T>();
    const std::size_t count = dx.count();
    for (std::size_t i = 0; i < count; ++i) {
      const T below = T(0.5) * (T(1) + vector_erf(in[i] * kInverseRoot2));
      const T density = kInverseRoot2Pi * vector_exp(T(-0.5) * in[i] * in[i]);
      out[i] = gradient[i] * (below + in[i] * density);
    }
  });
}

}  // namespace ringside
