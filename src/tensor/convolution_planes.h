// How a convolution becomes a correlation of planes that run through contiguous memory.
//
// An image's padded rows are laid out one behind the other, `pitch` apart: then the input element
// that a tap (c, ki, kj) pairs with output position p = i * pitch + j lies at p plus an offset that
// is the tap's alone, and one loop over p serves the whole plane. The positions between out_width
// and pitch come out too and are thrown away. With a stride s, every padded image is first parted
// into s * s planes, of the rows a, a + s, ... and the columns b, b + s, ... ("phases"); the tap
// (ki, kj) reads phase (ki mod s, kj mod s).
#pragma once

#include <algorithm>
#include <cstdint>

#include "ringside/kernels.h"

namespace ringside {

/// The indices [first, last) of a row or column of planes.
struct Span {
  std::int64_t first, last;
  bool empty() const { return first >= last; }
};

/// One dimension, height or width, of a convolution; the phase of a tap and how far it reaches.
struct PlaneAxis {
  PlaneAxis(std::int64_t in_size, std::int64_t kernel_size, std::int64_t out_size,
            const Conv2dOptions& options)
      : in(in_size),
        kernel(kernel_size),
        out(out_size),
        stride(options.stride),
        padding(options.padding) {}

  std::int64_t in, kernel, out, stride, padding;

  std::int64_t phases() const { return std::min(stride, kernel); }
  /// The farthest that a tap lies behind its position, in its phase.
  std::int64_t reach() const { return (kernel - 1) / stride; }
  /// Elements of a phase that some position reads.
  std::int64_t extent() const { return out + reach(); }
  /// The image's index of element i of a phase; outside [0, in) in the padding.
  std::int64_t image_index(std::int64_t phase, std::int64_t i) const {
    return i * stride + phase - padding;
  }
  /// The elements of a phase that lie within the image.
  Span inside(std::int64_t phase) const {
    const auto least = [&](std::int64_t index) {  // the first i with image_index(i) >= index
      const std::int64_t distance = index + padding - phase;
      return distance <= 0 ? 0 : std::min((distance + stride - 1) / stride, extent());
    };
    return {least(0), least(in)};
  }
};

struct ConvolutionPlanes {
  ConvolutionPlanes(const Shape& x, const Shape& weight, const Shape& y,
                    const Conv2dOptions& options)
      : batch(x[0]),
        in_channels(x[1]),
        out_channels(weight[0]),
        rows(x[2], weight[2], y[2], options),
        columns(x[3], weight[3], y[3], options) {}

  std::int64_t batch, in_channels, out_channels;
  PlaneAxis rows, columns;

  std::int64_t image() const { return in_channels * rows.in * columns.in; }
  std::int64_t out_image() const { return out_channels * rows.out * columns.out; }
  std::int64_t taps() const { return in_channels * rows.kernel * columns.kernel; }
  bool nothing() const { return batch == 0 || taps() == 0 || out_image() == 0; }

  std::int64_t pitch() const { return columns.extent(); }
  std::int64_t plane() const { return rows.extent() * pitch(); }
  std::int64_t phases() const { return rows.phases() * columns.phases(); }
  /// From the first output position to behind the last.
  std::int64_t positions() const { return (rows.out - 1) * pitch() + columns.out; }
  /// All planes of one image.
  std::int64_t staged_image() const { return in_channels * phases() * plane(); }
  std::int64_t phase_index(std::int64_t row_phase, std::int64_t column_phase) const {
    return row_phase * columns.phases() + column_phase;
  }

  /// visit(row_phase, column_phase).
  template <typename Visit>
  void for_each_phase(Visit visit) const {
    for (std::int64_t a = 0; a < rows.phases(); ++a) {
      for (std::int64_t b = 0; b < columns.phases(); ++b) visit(a, b);
    }
  }
};

}  // namespace ringside
