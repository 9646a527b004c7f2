// Max and average pooling over planes of [B,C,H,W].
#include <algorithm>
#include <cmath>

#include "tensor/cpu_kernel_set.h"

namespace ringside {
namespace {

/// The flat index of the largest element of a window; the first of equals, and NaN is larger than
/// any number.
template <typename T>
std::int64_t largest_in_window(const T* plane, std::int64_t width, std::int64_t top,
                               std::int64_t left, std::int64_t kernel) {
  std::int64_t largest = top * width + left;
  for (std::int64_t i = top; i < top + kernel; ++i) {
    for (std::int64_t j = left; j < left + kernel; ++j) {
      const T value = plane[i * width + j];
      if (value > plane[largest] || (std::isnan(value) && !std::isnan(plane[largest]))) {
        largest = i * width + j;
      }
    }
  }
  return largest;
}

}  // namespace

void CpuKernels::max_pool2d(LaunchContext&, const DeviceArray& y, const DeviceArray& argmax,
                            const DeviceArray& x, const Pool2dOptions& options) {
  visit_floating(y.dtype, [&]<typename T>() {
    const std::int64_t planes = x.shape[0] * x.shape[1];
    const std::int64_t height = x.shape[2];
    const std::int64_t width = x.shape[3];
    T* out = y.data<T>();
    auto* index = argmax.data<std::int64_t>();
    for (std::int64_t p = 0; p < planes; ++p) {
      const T* plane = x.data<T>() + p * height * width;
      for (std::int64_t i = 0; i < y.shape[2]; ++i) {
        for (std::int64_t j = 0; j < y.shape[3]; ++j) {
          *index = largest_in_window(plane, width, i * options.stride, j * options.stride,
                                     options.kernel);
          *out++ = plane[*index++];
        }
      }
    }
  });
}

void CpuKernels::max_pool2d_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                                     const DeviceArray& argmax) {
  visit_floating(dx.dtype, [&]<typename T>() {
    const std::int64_t planes = dx.shape[0] * dx.shape[1];
    const std::int64_t in_size = dx.shape[2] * dx.shape[3];
    const std::int64_t out_size = dy.shape[2] * dy.shape[3];
    std::fill_n(dx.data<T>(), dx.count(), T(0));
    for (std::int64_t p = 0; p < planes; ++p) {
      T* plane = dx.data<T>() + p * in_size;
      const T* gradient = dy.data<T>() + p * out_size;
      const auto* index = argmax.data<std::int64_t>() + p * out_size;
      for (std::int64_t i = 0; i < out_size; ++i) plane[index[i]] += gradient[i];
    }
  });
}

void CpuKernels::avg_pool2d(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                            const Pool2dOptions& options) {
  visit_floating(y.dtype, [&]<typename T>() {
    const std::int64_t planes = x.shape[0] * x.shape[1];
    const std::int64_t height = x.shape[2];
    const std::int64_t width = x.shape[3];
    const T window = static_cast<T>(options.kernel * options.kernel);
    T* out = y.data<T>();
    for (std::int64_t p = 0; p < planes; ++p) {
      const T* plane = x.data<T>() + p * height * width;
      for (std::int64_t i = 0; i < y.shape[2]; ++i) {
        for (std::int64_t j = 0; j < y.shape[3]; ++j) {
          const T* corner = plane + i * options.stride * width + j * options.stride;
          T sum = 0;
          for (std::int64_t a = 0; a < options.kernel; ++a) {
            for (std::int64_t b = 0; b < options.kernel; ++b) sum += corner[a * width + b];
          }
          *out++ = sum / window;
        }
      }
    }
  });
}

void CpuKernels::avg_pool2d_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                                     const Pool2dOptions& options) {
  visit_floating(dx.dtype, [&]<typename T>() {
    const std::int64_t planes = dx.shape[0] * dx.shape[1];
    const std::int64_t height = dx.shape[2];
    const std::int64_t width = dx.shape[3];
    const T window = static_cast<T>(options.kernel * options.kernel);
    std::fill_n(dx.data<T>(), dx.count(), T(0));
    const T* gradient = dy.data<T>();
    for (std::int64_t p = 0; p < planes; ++p) {
      T* plane = dx.data<T>() + p * height * width;
      for (std::int64_t i = 0; i < dy.shape[2]; ++i) {
        for (std::int64_t j = 0; j < dy.shape[3]; ++j) {
          T* corner = plane + i * options.stride * width + j * options.stride;
          const T share = *gradient++ / window;
          for (std::int64_t a = 0; a < options.kernel; ++a) {
            for (std::int64_t b = 0; b < options.kernel; ++b) corner[a * width + b] += share;
          }
        }
      }
    }
  });
}

}  // namespace ringside
