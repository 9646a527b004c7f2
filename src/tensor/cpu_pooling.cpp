// Max and average pooling over planes of [B,C,H,W].
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensor/cpu_kernel_set.h"

namespace ringside {
namespace {

/// Signed integers as wide as T, so that both go through vectors lane by lane.
template <typename T>
using IntegerLike = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

template <typename T>
struct Element {
  T value;
  IntegerLike<T> offset;  // from the window's corner
};

/// The first of equals; NaN is larger than any number. Selects of one comparison each, which is
/// what GCC turns into vector code.
template <typename T>
Element<T> larger(const Element<T>& first, const Element<T>& second) {
  const bool exceeds = second.value > first.value;
  const Element<T> number{exceeds ? second.value : first.value,
                          exceeds ? second.offset : first.offset};
  const bool second_is_nan = second.value != second.value;
  const Element<T> with_second{second_is_nan ? second.value : number.value,
                               second_is_nan ? second.offset : number.offset};
  const bool first_is_nan = first.value != first.value;
  return {first_is_nan ? first.value : with_second.value,
          first_is_nan ? first.offset : with_second.offset};
}

/// One row of y and its places in the plane; `corner` is the first window's.
template <typename T>
void max_pool_row(T* __restrict y, std::int64_t* __restrict argmax, std::int64_t count,
                  const T* __restrict plane, std::int64_t corner, std::int64_t width,
                  const Pool2dOptions& options) {
  for (std::int64_t j = 0; j < count; ++j, corner += options.stride) {
    Element<T> largest{plane[corner], 0};
    for (std::int64_t a = 0; a < options.kernel; ++a) {
      for (std::int64_t b = 0; b < options.kernel; ++b) {
        const std::int64_t offset = a * width + b;
        largest = larger(largest, {plane[corner + offset], static_cast<IntegerLike<T>>(offset)});
      }
    }
    y[j] = largest.value;
    argmax[j] = corner + largest.offset;
  }
}

/// max_pool_row for windows of 2x2 side by side.
template <typename T>
void max_pool_row_of_pairs(T* __restrict y, std::int64_t* __restrict argmax, std::int64_t count,
                           const T* __restrict plane, std::int64_t corner, std::int64_t width) {
  const T* __restrict above = plane + corner;
  const T* __restrict below = above + width;
  const auto down = static_cast<IntegerLike<T>>(width);
  for (std::int64_t j = 0; j < count; ++j) {
    const auto upper = larger<T>({above[2 * j], 0}, {above[2 * j + 1], 1});
    const auto lower = larger<T>({below[2 * j], down}, {below[2 * j + 1], down + 1});
    const auto largest = larger(upper, lower);
    y[j] = largest.value;
    argmax[j] = corner + 2 * j + largest.offset;
  }
}

}  // namespace

void CpuKernels::max_pool2d(LaunchContext&, const DeviceArray& y, const DeviceArray& argmax,
                            const DeviceArray& x, const Pool2dOptions& options) {
  visit_floating(y.dtype, [&]<typename T>() {
    const std::int64_t planes = x.shape[0] * x.shape[1];
    const std::int64_t width = x.shape[3];
    const std::int64_t plane_size = x.shape[2] * width;
    const std::int64_t out_height = y.shape[2];
    const std::int64_t out_width = y.shape[3];
    const bool pairs = options.kernel == 2 && options.stride == 2;
    T* out = y.data<T>();
    auto* index = argmax.data<std::int64_t>();
    for (std::int64_t p = 0; p < planes; ++p) {
      const T* plane = x.data<T>() + p * plane_size;
      for (std::int64_t i = 0; i < out_height; ++i) {
        const std::int64_t corner = i * options.stride * width;
        if (pairs) {
          max_pool_row_of_pairs(out, index, out_width, plane, corner, width);
        } else {
          max_pool_row(out, index, out_width, plane, corner, width, options);
        }
        out += out_width;
        index += out_width;
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
    const std::int64_t out_height = y.shape[2];
    const std::int64_t out_width = y.shape[3];
    T* out = y.data<T>();
    for (std::int64_t p = 0; p < planes; ++p) {
      const T* plane = x.data<T>() + p * height * width;
      for (std::int64_t i = 0; i < out_height; ++i) {
        for (std::int64_t j = 0; j < out_width; ++j) {
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
    const std::int64_t out_height = dy.shape[2];
    const std::int64_t out_width = dy.shape[3];
    std::fill_n(dx.data<T>(), dx.count(), T(0));
    const T* gradient = dy.data<T>();
    for (std::int64_t p = 0; p < planes; ++p) {
      T* plane = dx.data<T>() + p * height * width;
      for (std::int64_t i = 0; i < out_height; ++i) {
        for (std::int64_t j = 0; j < out_width; ++j) {
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
