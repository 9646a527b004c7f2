// Layer normalisation of rows. Statistics and row sums are taken in float64 whatever the dtype; the
// gradients of weight and bias sum the rows in ascending order.
#include <algorithm>
#include <cmath>

#include "tensor/cpu_kernel_set.h"
#include "tensor/lane_sum.h"

namespace ringside {

void CpuKernels::layer_norm(LaunchContext&, const DeviceArray& y, const DeviceArray& saved_mean,
                            const DeviceArray& saved_inverse_std, const DeviceArray& x,
                            const DeviceArray& weight, const DeviceArray& bias, double epsilon) {
  visit_floating(x.dtype, [&]<typename T>() {
    const auto width = static_cast<std::int64_t>(weight.count());
    const auto rows = static_cast<std::int64_t>(saved_mean.count());
    const T* __restrict scale = weight.data<T>();
    const T* __restrict shift = bias.data<T>();
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* __restrict in = x.data<T>() + r * width;
      T* __restrict out = y.data<T>() + r * width;
      const double mean = lane_sum(width, [&](std::int64_t j) -> double { return in[j]; }) /
                          static_cast<double>(width);
      const double squares = lane_sum(width, [&](std::int64_t j) {
        const double deviation = in[j] - mean;
        return deviation * deviation;
      });
      const T center = static_cast<T>(mean);
      const T inverse_std =
          static_cast<T>(1 / std::sqrt(squares / static_cast<double>(width) + epsilon));
      saved_mean.data<T>()[r] = center;
      saved_inverse_std.data<T>()[r] = inverse_std;
      for (std::int64_t j = 0; j < width; ++j) {
        out[j] = (in[j] - center) * inverse_std * scale[j] + shift[j];
      }
    }
  });
}

// With g = dy * weight and x̂ = (x - mean) * inverse_std:
// dx = inverse_std * (g - mean of g - x̂ * mean of g x̂), means over the row.
void CpuKernels::layer_norm_backward(LaunchContext&, const DeviceArray& dx,
                                     const DeviceArray& dweight, const DeviceArray& dbias,
                                     const DeviceArray& dy, const DeviceArray& x,
                                     const DeviceArray& weight, const DeviceArray& saved_mean,
                                     const DeviceArray& saved_inverse_std) {
  visit_floating(dx.dtype, [&]<typename T>() {
    const auto width = static_cast<std::int64_t>(weight.count());
    const auto rows = static_cast<std::int64_t>(saved_mean.count());
    const T* __restrict scale = weight.data<T>();
    T* __restrict scale_gradient = dweight.data<T>();
    T* __restrict shift_gradient = dbias.data<T>();
    std::fill_n(scale_gradient, width, T(0));
    std::fill_n(shift_gradient, width, T(0));
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* __restrict in = x.data<T>() + r * width;
      const T* __restrict gradient = dy.data<T>() + r * width;
      T* __restrict out = dx.data<T>() + r * width;
      const T mean = saved_mean.data<T>()[r];
      const T inverse_std = saved_inverse_std.data<T>()[r];
      const auto normalised = [&](std::int64_t j) { return (in[j] - mean) * inverse_std; };
      const double sum =
          lane_sum(width, [&](std::int64_t j) -> double { return gradient[j] * scale[j]; });
      const double dot = lane_sum(
          width, [&](std::int64_t j) -> double { return gradient[j] * scale[j] * normalised(j); });
      const T mean_gradient = static_cast<T>(sum / static_cast<double>(width));
      const T mean_dot = static_cast<T>(dot / static_cast<double>(width));
      for (std::int64_t j = 0; j < width; ++j) {
        const T unit = normalised(j);
        out[j] = inverse_std * (gradient[j] * scale[j] - mean_gradient - unit * mean_dot);
        scale_gradient[j] += gradient[j] * unit;
        shift_gradient[j] += gradient[j];
      }
    }
  });
}

}  // namespace ringside
