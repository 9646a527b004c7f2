// Convolution as matrix products, image by image: the patches of an image become the columns of a
// matrix (im2col), so that y = weight * columns. Gradients use the same matrix, transposed.
//
// The columns of one image are scratch of the launch; they are not device memory and not accounted.
#include <algorithm>
#include <new>

#include "tensor/cpu_kernel_set.h"
#include "tensor/gemm.h"

namespace ringside {
namespace {

/// Uninitialised, aligned scratch.
template <typename T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count)
      : data_(static_cast<T*>(
            ::operator new(static_cast<std::size_t>(count) * sizeof(T), kAlignment))) {}
  ~Scratch() { ::operator delete(data_, kAlignment); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  T* data_;
};

/// The sizes of one convolution, in the letters of kernels.h.
struct Convolution {
  Convolution(const Shape& x, const Shape& weight, const Shape& y, const Conv2dOptions& options)
      : batch(x[0]),
        in_channels(x[1]),
        height(x[2]),
        width(x[3]),
        out_channels(weight[0]),
        kernel_height(weight[2]),
        kernel_width(weight[3]),
        out_height(y[2]),
        out_width(y[3]),
        stride(options.stride),
        padding(options.padding) {}

  std::int64_t batch, in_channels, height, width;
  std::int64_t out_channels, kernel_height, kernel_width;
  std::int64_t out_height, out_width;
  std::int64_t stride, padding;

  std::int64_t image() const { return in_channels * height * width; }
  std::int64_t patch() const { return in_channels * kernel_height * kernel_width; }  // C*kh*kw
  std::int64_t positions() const { return out_height * out_width; }
  bool nothing() const {
    return batch == 0 || out_channels == 0 || patch() == 0 || positions() == 0;
  }

  /// The output columns [first, last) whose input column `column * stride - padding + offset` lies
  /// within the image.
  std::pair<std::int64_t, std::int64_t> columns_inside(std::int64_t offset) const {
    const std::int64_t before =
        padding - offset;  // first column: the least with c*stride >= before
    const std::int64_t first = before <= 0 ? 0 : (before + stride - 1) / stride;
    const std::int64_t beyond = width + before;  // columns c with c*stride < beyond
    const std::int64_t last = beyond <= 0 ? 0 : (beyond + stride - 1) / stride;
    return {std::min(first, out_width), std::min(last, out_width)};
  }

  /// Calls visit(plane, in_row, kernel_column, out) for every row of the columns matrix that one
  /// kernel element and one output row make: `out` is its place in that matrix; in_row is outside
  /// [0, height) in the padding.
  template <typename Visit>
  void for_each_row(Visit visit) const {
    std::int64_t out = 0;
    for (std::int64_t c = 0; c < in_channels; ++c) {
      for (std::int64_t ki = 0; ki < kernel_height; ++ki) {
        for (std::int64_t kj = 0; kj < kernel_width; ++kj) {
          for (std::int64_t i = 0; i < out_height; ++i) {
            visit(c, i * stride - padding + ki, kj, out);
            out += out_width;
          }
        }
      }
    }
  }
};

/// columns[patch element, position] = the image's element there, 0 in the padding.
template <typename T>
void image_to_columns(const Convolution& conv, T* __restrict columns, const T* __restrict image) {
  conv.for_each_row([&](std::int64_t c, std::int64_t in_row, std::int64_t kj, std::int64_t out) {
    T* row = columns + out;
    if (in_row < 0 || in_row >= conv.height) {
      std::fill_n(row, conv.out_width, T(0));
      return;
    }
    const auto [first, last] = conv.columns_inside(kj);
    const T* from = image + (c * conv.height + in_row) * conv.width - conv.padding + kj;
    std::fill(row, row + first, T(0));
    for (std::int64_t j = first; j < last; ++j) row[j] = from[j * conv.stride];
    std::fill(row + std::max(first, last), row + conv.out_width, T(0));
  });
}

/// The transpose of image_to_columns: adds every column element to the image's element it came
/// from.
template <typename T>
void add_columns_to_image(const Convolution& conv, T* __restrict image,
                          const T* __restrict columns) {
  conv.for_each_row([&](std::int64_t c, std::int64_t in_row, std::int64_t kj, std::int64_t out) {
    if (in_row < 0 || in_row >= conv.height) return;
    const auto [first, last] = conv.columns_inside(kj);
    const T* row = columns + out;
    T* to = image + (c * conv.height + in_row) * conv.width - conv.padding + kj;
    for (std::int64_t j = first; j < last; ++j) to[j * conv.stride] += row[j];
  });
}

}  // namespace

void CpuKernels::conv2d(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                        const DeviceArray& weight, const DeviceArray& bias,
                        const Conv2dOptions& options) {
  const Convolution conv(x.shape, weight.shape, y.shape, options);
  if (conv.nothing()) return;
  visit_floating(y.dtype, [&]<typename T>() {
    Scratch<T> columns(conv.patch() * conv.positions());
    for (std::int64_t b = 0; b < conv.batch; ++b) {
      T* out = y.data<T>() + b * conv.out_channels * conv.positions();
      image_to_columns(conv, columns.data(), x.data<T>() + b * conv.image());
      ringside::gemm(conv.out_channels, conv.positions(), conv.patch(), T(1),
                     MatrixOperand<T>{weight.data<T>(), conv.patch()},
                     MatrixOperand<T>{columns.data(), conv.positions()}, T(0), out);
      if (bias.empty()) continue;
      for (std::int64_t o = 0; o < conv.out_channels; ++o) {
        const T addend = bias.data<T>()[o];
        for (std::int64_t p = 0; p < conv.positions(); ++p) *out++ += addend;
      }
    }
  });
}

void CpuKernels::conv2d_backward_input(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                                       const DeviceArray& weight, const Conv2dOptions& options) {
  const Convolution conv(dx.shape, weight.shape, dy.shape, options);
  visit_floating(dx.dtype, [&]<typename T>() {
    std::fill_n(dx.data<T>(), dx.count(), T(0));
    if (conv.nothing()) return;
    Scratch<T> columns(conv.patch() * conv.positions());
    for (std::int64_t b = 0; b < conv.batch; ++b) {
      const T* gradient = dy.data<T>() + b * conv.out_channels * conv.positions();
      ringside::gemm(conv.patch(), conv.positions(), conv.out_channels, T(1),
                     MatrixOperand<T>{weight.data<T>(), conv.patch(), true},
                     MatrixOperand<T>{gradient, conv.positions()}, T(0), columns.data());
      add_columns_to_image(conv, dx.data<T>() + b * conv.image(), columns.data());
    }
  });
}

void CpuKernels::conv2d_backward_weight(LaunchContext&, const DeviceArray& dweight,
                                        const DeviceArray& dy, const DeviceArray& x,
                                        const Conv2dOptions& options) {
  const Convolution conv(x.shape, dweight.shape, dy.shape, options);
  visit_floating(dweight.dtype, [&]<typename T>() {
    std::fill_n(dweight.data<T>(), dweight.count(), T(0));
    if (conv.nothing()) return;
    Scratch<T> columns(conv.patch() * conv.positions());
    for (std::int64_t b = 0; b < conv.batch; ++b) {
      const T* gradient = dy.data<T>() + b * conv.out_channels * conv.positions();
      image_to_columns(conv, columns.data(), x.data<T>() + b * conv.image());
      ringside::gemm(conv.out_channels, conv.patch(), conv.positions(), T(1),
                     MatrixOperand<T>{gradient, conv.positions()},
                     MatrixOperand<T>{columns.data(), conv.positions(), true}, T(1),
                     dweight.data<T>());
    }
  });
}

void CpuKernels::conv2d_backward_bias(LaunchContext&, const DeviceArray& dbias,
                                      const DeviceArray& dy) {
  visit_floating(dbias.dtype, [&]<typename T>() {
    const std::int64_t channels = dy.shape[1];
    const std::int64_t positions = dy.shape[2] * dy.shape[3];
    T* sum = dbias.data<T>();
    std::fill_n(sum, channels, T(0));
    const T* gradient = dy.data<T>();
    for (std::int64_t b = 0; b < dy.shape[0]; ++b) {
      for (std::int64_t o = 0; o < channels; ++o) {
        for (std::int64_t p = 0; p < positions; ++p) sum[o] += *gradient++;
      }
    }
  });
}

}  // namespace ringside
