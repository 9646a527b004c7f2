// The sizes of a convolution as its CUDA kernels see them: three matrix products over indices of 32
// bits, whose divisions a GPU does four times as fast as those of 64. Pure; needs no GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "ringside/dtype.h"
#include "ringside/error.h"
#include "ringside/kernels.h"

namespace ringside::cuda {

struct ConvolutionGeometry {
  int batch, in_channels, height, width;
  int out_channels, kernel_height, kernel_width;
  int out_height, out_width;
  int stride, padding;

  /// Throws Error(kUnavailable) where an index would not fit.
  ConvolutionGeometry(const Shape& x, const Shape& weight, const Shape& y,
                      const Conv2dOptions& options) {
    const auto checked = [](std::int64_t count, const char* what) {
      // A tile or a stride past the end must not overflow either.
      if (count > std::numeric_limits<std::int32_t>::max() / 2) {
        throw Error(ErrorKind::kUnavailable,
                    "convolution on CUDA: " + std::to_string(count) + " " + what +
                        " are more than it can count",
                    "take a smaller batch or smaller images");
      }
      return static_cast<int>(count);
    };
    static_cast<void>(checked(x[0] * x[2] * x[3], "positions of the input"));
    static_cast<void>(checked(y[0] * y[2] * y[3], "positions of the output"));
    static_cast<void>(checked(weight.numel(), "weights"));
    batch = checked(x[0], "samples");
    in_channels = checked(x[1], "channels");
    height = checked(x[2], "rows");
    width = checked(x[3], "columns");
    out_channels = checked(weight[0], "channels");
    kernel_height = checked(weight[2], "rows of the kernel");
    kernel_width = checked(weight[3], "columns of the kernel");
    out_height = checked(y[2], "rows");
    out_width = checked(y[3], "columns");
    stride = checked(options.stride, "steps");
    padding = checked(options.padding, "rows of padding");
  }

  constexpr int plane() const { return height * width; }
  constexpr int out_plane() const { return out_height * out_width; }
  constexpr int kernel() const { return kernel_height * kernel_width; }
  constexpr int taps() const { return in_channels * kernel(); }
  constexpr int positions() const { return batch * plane(); }
  constexpr int out_positions() const { return batch * out_plane(); }
};

/// Into how many parts the sum of the weight's gradient is cut: it has few elements, and each adds
/// all positions of the batch, so that without parts a GPU would be nearly idle. It depends on the
/// sizes alone, and with it the order of additions.
constexpr int weight_gradient_parts(std::int64_t tiles, std::int64_t products) {
  constexpr std::int64_t kWantedBlocks = 512;
  constexpr std::int64_t kLeastProducts = 256;  // of a part
  const std::int64_t wanted = kWantedBlocks / std::max<std::int64_t>(tiles, 1);
  const std::int64_t useful = products / kLeastProducts;
  return static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, useful), 1, 256));
}

}  // namespace ringside::cuda
