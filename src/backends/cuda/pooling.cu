// Max and average pooling over planes of [B,C,H,W].
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"

namespace ringside::cuda {
namespace {

/// Where an output's window lies.
struct Windows {
  std::int64_t height, width, out_height, out_width, kernel, stride;
  Windows(const Shape& x, const Shape& y, const Pool2dOptions& options)
      : height(x[2]),
        width(x[3]),
        out_height(y[2]),
        out_width(y[3]),
        kernel(options.kernel),
        stride(options.stride) {}
  __device__ std::int64_t plane(std::int64_t out) const { return out / (out_height * out_width); }
  /// In the plane.
  __device__ std::int64_t corner(std::int64_t out) const {
    const std::int64_t place = out % (out_height * out_width);
    return place / out_width * stride * width + place % out_width * stride;
  }
};

/// The first of equals; NaN is larger than any number.
template <typename T>
struct MaxPool {
  T* y;
  std::int64_t* argmax;
  const T* x;
  Windows windows;
  template <int N>
  __device__ void at(std::size_t i) const {
    const auto out = static_cast<std::int64_t>(i);
    const T* plane = x + windows.plane(out) * windows.height * windows.width;
    const std::int64_t corner = windows.corner(out);
    T largest = plane[corner];
    std::int64_t place = corner;
    for (std::int64_t a = 0; a < windows.kernel; ++a) {
      for (std::int64_t b = 0; b < windows.kernel; ++b) {
        const std::int64_t next = corner + a * windows.width + b;
        const T value = plane[next];
        const bool exceeds = value > largest || (isnan(value) && !isnan(largest));
        largest = exceeds ? value : largest;
        place = exceeds ? next : place;
      }
    }
    y[i] = largest;
    argmax[i] = place;
  }
};

/// A block a plane. Rows of outputs follow one another, so that what overlapping windows give to
/// one place is added in the CPU's order. Within a row, windows with the same place stand side by
/// side (the first largest of two windows is that of all between), and the first of them adds for
/// all.
template <typename T>
__global__ void max_pool_backward_kernel(T* dx, const T* dy, const std::int64_t* argmax,
                                         std::int64_t in_size, std::int64_t out_height,
                                         std::int64_t out_width) {
  const std::int64_t out_size = out_height * out_width;
  T* plane = dx + blockIdx.x * in_size;
  for (std::int64_t i = threadIdx.x; i < in_size; i += blockDim.x) plane[i] = T(0);
  for (std::int64_t row = 0; row < out_height; ++row) {
    __syncthreads();
    const T* gradient = dy + blockIdx.x * out_size + row * out_width;
    const std::int64_t* place = argmax + blockIdx.x * out_size + row * out_width;
    for (std::int64_t j = threadIdx.x; j < out_width; j += blockDim.x) {
      const std::int64_t own = place[j];
      if (j > 0 && place[j - 1] == own) continue;
      T sum = plane[own];
      for (std::int64_t next = j; next < out_width && place[next] == own; ++next) {
        sum += gradient[next];
      }
      plane[own] = sum;
    }
  }
}

template <typename T>
struct AveragePool {
  T* y;
  const T* x;
  Windows windows;
  template <int N>
  __device__ void at(std::size_t i) const {
    const auto out = static_cast<std::int64_t>(i);
    const T* corner = x + windows.plane(out) * windows.height * windows.width + windows.corner(out);
    T sum = 0;
    for (std::int64_t a = 0; a < windows.kernel; ++a) {
      for (std::int64_t b = 0; b < windows.kernel; ++b) sum += corner[a * windows.width + b];
    }
    y[i] = sum / static_cast<T>(windows.kernel * windows.kernel);
  }
};

/// The outputs [first, last) of one dimension whose windows hold an input.
struct Holders {
  std::int64_t first, last;
  __device__ Holders(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                     std::int64_t outputs) {
    first = input < kernel ? 0 : (input - kernel) / stride + 1;
    last = min(input / stride + 1, outputs);
  }
};

/// An input collects from its windows, in ascending order.
template <typename T>
struct AveragePoolBackward {
  T* dx;
  const T* dy;
  Windows windows;
  template <int N>
  __device__ void at(std::size_t i) const {
    const auto in = static_cast<std::int64_t>(i);
    const std::int64_t place = in % (windows.height * windows.width);
    const T* gradient =
        dy + in / (windows.height * windows.width) * windows.out_height * windows.out_width;
    const Holders rows(place / windows.width, windows.kernel, windows.stride, windows.out_height);
    const Holders columns(place % windows.width, windows.kernel, windows.stride, windows.out_width);
    const T window = static_cast<T>(windows.kernel * windows.kernel);
    T sum = 0;
    for (std::int64_t r = rows.first; r < rows.last; ++r) {
      for (std::int64_t c = columns.first; c < columns.last; ++c) {
        sum += gradient[r * windows.out_width + c] / window;
      }
    }
    dx[i] = sum;
  }
};

/// Windows are read one by one: there is nothing to take 16 bytes of.
template <typename Body>
void for_each(const LaunchContext& context, std::size_t count, const Body& body) {
  if (count == 0) return;
  elements_kernel<1><<<blocks_for(count), kThreads, 0, stream_of(context)>>>(count, body);
  RINGSIDE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void CudaKernels::max_pool2d(LaunchContext& context, const DeviceArray& y,
                             const DeviceArray& argmax, const DeviceArray& x,
                             const Pool2dOptions& options) {
  visit_trainable(y.dtype, [&]<typename T>() {
    for_each(context, y.count(),
             MaxPool<T>{y.data<T>(), argmax.data<std::int64_t>(), x.data<T>(),
                        Windows(x.shape, y.shape, options)});
  });
}

void CudaKernels::max_pool2d_backward(LaunchContext& context, const DeviceArray& dx,
                                      const DeviceArray& dy, const DeviceArray& argmax) {
  const std::int64_t planes = dx.shape[0] * dx.shape[1];
  if (dx.count() == 0) return;
  // As wide as a row of outputs, in whole warps: more threads would have nothing to add.
  constexpr std::int64_t kWarp = 32;
  const std::int64_t threads =
      std::clamp<std::int64_t>((dy.shape[3] + kWarp - 1) / kWarp * kWarp, 2 * kWarp, kThreads);
  visit_trainable(dx.dtype, [&]<typename T>() {
    max_pool_backward_kernel<<<static_cast<unsigned>(planes), static_cast<unsigned>(threads), 0,
                               stream_of(context)>>>(
        dx.data<T>(), dy.data<T>(), argmax.data<std::int64_t>(), dx.shape[2] * dx.shape[3],
        dy.shape[2], dy.shape[3]);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::avg_pool2d(LaunchContext& context, const DeviceArray& y, const DeviceArray& x,
                             const Pool2dOptions& options) {
  visit_trainable(y.dtype, [&]<typename T>() {
    for_each(context, y.count(),
             AveragePool<T>{y.data<T>(), x.data<T>(), Windows(x.shape, y.shape, options)});
  });
}

void CudaKernels::avg_pool2d_backward(LaunchContext& context, const DeviceArray& dx,
                                      const DeviceArray& dy, const Pool2dOptions& options) {
  visit_trainable(dx.dtype, [&]<typename T>() {
    for_each(
        context, dx.count(),
        AveragePoolBackward<T>{dx.data<T>(), dy.data<T>(), Windows(dx.shape, dy.shape, options)});
  });
}

}  // namespace ringside::cuda
