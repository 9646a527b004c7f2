// Max and average pooling over planes of [B,C,H,W].
#include <algorithm>
#include <array>
#include <type_traits>

#include "tensor/cpu_kernel_set.h"

namespace ringside {
namespace {

/// Signed integers as wide as T, so that both go through vectors lane by lane.
template <typename T>
using IntegerLike = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// The windows of one row of y, one after the other along the row, all elements of a window apart
/// by the same offsets. kStride is the stride, or 0: `stride` is.
template <typename T, int kStride>
class WindowRow {
 public:
  WindowRow(const T* plane, std::int64_t width, const Pool2dOptions& options)
      : plane_(plane), width_(width), kernel_(options.kernel), stride_(options.stride) {}

  /// The largest of each of `count` windows and its place in the plane; the first of equals, and
  /// NaN is larger than any number. `corner`: of the first window.
  void largest(T* y, std::int64_t* argmax, std::int64_t corner, std::int64_t count) const {
    const std::int64_t stride = kStride == 0 ? stride_ : kStride;
    for (; count > 0; count -= kBlock) {
      const std::int64_t size = std::min(count, kBlock);
      largest_of_block(y, argmax, corner, size);
      y += size;
      argmax += size;
      corner += size * stride;
    }
  }

 private:
  static constexpr std::int64_t kBlock = 64;

  void largest_of_block(T* __restrict y, std::int64_t* __restrict argmax, std::int64_t corner,
                        std::int64_t count) const {
    const std::int64_t stride = kStride == 0 ? stride_ : kStride;
    std::array<IntegerLike<T>, kBlock> offset_of_largest{};
    IntegerLike<T>* __restrict chosen = offset_of_largest.data();
    const T* __restrict first = plane_ + corner;
    for (std::int64_t j = 0; j < count; ++j) y[j] = first[j * stride];
    for (std::int64_t element = 1; element < kernel_ * kernel_; ++element) {
      const std::int64_t offset = element / kernel_ * width_ + element % kernel_;
      const auto short_offset = static_cast<IntegerLike<T>>(offset);
      const T* __restrict values = first + offset;
      for (std::int64_t j = 0; j < count; ++j) {
        const T value = values[j * stride];
        const T best = y[j];
        const bool larger = (value > best) | ((value != value) & (best == best));
        y[j] = larger ? value : best;
        chosen[j] = larger ? short_offset : chosen[j];
      }
    }
    for (std::int64_t j = 0; j < count; ++j) argmax[j] = corner + j * stride + chosen[j];
  }

  const T* plane_;
  std::int64_t width_, kernel_, stride_;
};

template <typename T, int kStride>
void max_pool_planes(const DeviceArray& y, const DeviceArray& argmax, const DeviceArray& x,
                     const Pool2dOptions& options) {
  const std::int64_t planes = x.shape[0] * x.shape[1];
  const std::int64_t width = x.shape[3];
  const std::int64_t plane = x.shape[2] * width;
  const std::int64_t out_height = y.shape[2];
  const std::int64_t out_width = y.shape[3];
  T* out = y.data<T>();
  auto* index = argmax.data<std::int64_t>();
  for (std::int64_t p = 0; p < planes; ++p) {
    const WindowRow<T, kStride> row(x.data<T>() + p * plane, width, options);
    for (std::int64_t i = 0; i < out_height; ++i) {
      row.largest(out, index, i * options.stride * width, out_width);
      out += out_width;
      index += out_width;
    }
  }
}

}  // namespace

void CpuKernels::max_pool2d(LaunchContext&, const DeviceArray& y, const DeviceArray& argmax,
                            const DeviceArray& x, const Pool2dOptions& options) {
  visit_floating(y.dtype, [&]<typename T>() {
    if (options.stride == 2) return max_pool_planes<T, 2>(y, argmax, x, options);
    max_pool_planes<T, 0>(y, argmax, x, options);
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
