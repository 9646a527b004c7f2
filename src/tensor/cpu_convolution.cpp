// Convolution without im2col: images are staged as planes in which every tap of the kernel is a
// shift (convolution_planes.h), and two loops for the processor's vectors do the rest
// (plane_kernels.h). The gradient of the input is a correlation, too: of dy's planes with the
// weights, every tap shifted the other way.
//
// Staged planes are scratch of the launch (workspace.h): a few images at a time, so that they stay
// in the cache.
#include <algorithm>

#include "tensor/convolution_planes.h"
#include "tensor/cpu_kernel_set.h"
#include "tensor/lane_sum.h"
#include "tensor/plane_kernels.h"

namespace ringside {
namespace {

// The arrays of a Workspace.
constexpr std::size_t kOffsets = 0;
constexpr std::size_t kWeights = 1;
constexpr std::size_t kInputPlanes = 2;
constexpr std::size_t kOutputPlanes = 3;

std::int64_t round_up(std::int64_t count, std::int64_t lanes) {
  return (count + lanes - 1) / lanes * lanes;
}

/// Puts an image's elements to their places in its planes; the padding is not touched.
template <typename T>
void stage_image(const ConvolutionPlanes& planes, T* __restrict staged, const T* __restrict image) {
  for (std::int64_t c = 0; c < planes.in_channels; ++c) {
    planes.for_each_phase([&](std::int64_t a, std::int64_t b) {
      const Span rows = planes.rows.inside(a);
      const Span columns = planes.columns.inside(b);
      for (std::int64_t i = rows.first; i < rows.last; ++i) {
        const T* from = image + planes.rows.image_index(a, i) * planes.columns.in;
        T* to = staged + i * planes.pitch();
        for (std::int64_t j = columns.first; j < columns.last; ++j) {
          to[j] = from[planes.columns.image_index(b, j)];
        }
      }
      staged += planes.plane();
    });
    image += planes.rows.in * planes.columns.in;
  }
}

/// Where each tap finds the element of position 0, taps in the order of a weight's elements.
void stage_offsets(const ConvolutionPlanes& planes, std::int64_t* offsets) {
  const std::int64_t stride = planes.rows.stride;
  for (std::int64_t c = 0; c < planes.in_channels; ++c) {
    for (std::int64_t ki = 0; ki < planes.rows.kernel; ++ki) {
      for (std::int64_t kj = 0; kj < planes.columns.kernel; ++kj) {
        const std::int64_t phase = planes.phase_index(ki % stride, kj % stride);
        *offsets++ = (c * planes.phases() + phase) * planes.plane() + ki / stride * planes.pitch() +
                     kj / stride;
      }
    }
  }
}

/// y = the positions of one output plane that count, plus the bias.
template <typename T>
void unstage_output(const ConvolutionPlanes& planes, T* __restrict y, const T* __restrict plane,
                    T bias) {
  const std::int64_t width = planes.columns.out;
  for (std::int64_t i = 0; i < planes.rows.out; ++i) {
    for (std::int64_t j = 0; j < width; ++j) y[j] = plane[j] + bias;
    y += width;
    plane += planes.pitch();
  }
}

/// Rows of dy, `pitch` apart; what lies between them is not touched.
template <typename T>
void stage_gradient(const ConvolutionPlanes& planes, T* __restrict staged, const T* __restrict dy) {
  for (std::int64_t i = 0; i < planes.rows.out; ++i) {
    std::copy_n(dy, planes.columns.out, staged);
    dy += planes.columns.out;
    staged += planes.pitch();
  }
}

/// dy's planes for the gradient of the input: a margin of zeros as wide as the taps reach above,
/// below and left of each row; the margin right of a row is the next row's left one.
struct GradientPlanes {
  explicit GradientPlanes(const ConvolutionPlanes& planes)
      : origin(planes.rows.reach() * planes.pitch() + planes.columns.reach()),
        plane(planes.rows.reach() * planes.pitch() + planes.plane() + planes.columns.reach()) {}

  std::int64_t origin;  // of dy's first element
  std::int64_t plane;
};

/// The part of the input's gradient that lies in one phase: its taps, and the positions that lie
/// within the image.
template <typename T>
class PhaseGradient {
 public:
  PhaseGradient(const ConvolutionPlanes& planes, std::int64_t row_phase, std::int64_t column_phase)
      : planes_(planes),
        row_phase_(row_phase),
        column_phase_(column_phase),
        rows_(planes.rows.inside(row_phase)),
        columns_(planes.columns.inside(column_phase)),
        first_(rows_.first * planes.pitch() + columns_.first) {}

  bool empty() const { return rows_.empty() || columns_.empty(); }
  std::int64_t positions() const {
    return (rows_.last - 1) * planes_.pitch() + columns_.last - first_;
  }

  /// Writes offsets and weights[tap, channel]; returns the number of taps.
  std::int64_t stage_taps(std::int64_t* offsets, T* staged_weights, const T* weight) const {
    const GradientPlanes gradient(planes_);
    const std::int64_t stride = planes_.rows.stride;
    const std::int64_t kernel = planes_.rows.kernel * planes_.columns.kernel;
    std::int64_t taps = 0;
    for (std::int64_t o = 0; o < planes_.out_channels; ++o) {
      for (std::int64_t ki = row_phase_; ki < planes_.rows.kernel; ki += stride) {
        for (std::int64_t kj = column_phase_; kj < planes_.columns.kernel; kj += stride) {
          offsets[taps++] = o * gradient.plane + gradient.origin + first_ -
                            ki / stride * planes_.pitch() - kj / stride;
          const T* element = weight + o * planes_.taps() + ki * planes_.columns.kernel + kj;
          for (std::int64_t c = 0; c < planes_.in_channels; ++c) {
            *staged_weights++ = element[c * kernel];
          }
        }
      }
    }
    return taps;
  }

  /// Puts the positions of one channel to their places in the image.
  void unstage(T* __restrict image, const T* __restrict plane) const {
    for (std::int64_t i = rows_.first; i < rows_.last; ++i) {
      T* to = image + planes_.rows.image_index(row_phase_, i) * planes_.columns.in;
      const T* from = plane + i * planes_.pitch() - first_;
      for (std::int64_t j = columns_.first; j < columns_.last; ++j) {
        to[planes_.columns.image_index(column_phase_, j)] = from[j];
      }
    }
  }

 private:
  const ConvolutionPlanes& planes_;
  std::int64_t row_phase_, column_phase_;
  Span rows_, columns_;
  std::int64_t first_;  // position
};

}  // namespace

void CpuKernels::conv2d(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                        const DeviceArray& weight, const DeviceArray& bias,
                        const Conv2dOptions& options) {
  const ConvolutionPlanes planes(x.shape, weight.shape, y.shape, options);
  if (planes.nothing()) return;
  visit_floating(y.dtype, [&]<typename T>() {
    const PlaneKernels<T>& loops = plane_kernels<T>();
    const auto workspace = workspaces_.borrow();
    auto* offsets = workspace->array<std::int64_t>(kOffsets, planes.taps());
    stage_offsets(planes, offsets);
    T* weights = workspace->array<T>(kWeights, planes.taps() * planes.out_channels);
    for (std::int64_t o = 0; o < planes.out_channels; ++o) {
      const T* from = weight.data<T>() + o * planes.taps();
      for (std::int64_t k = 0; k < planes.taps(); ++k) {
        weights[k * planes.out_channels + o] = from[k];
      }
    }
    const std::int64_t staged_count = planes.staged_image() + loops.lanes;
    T* staged = workspace->array<T>(kInputPlanes, staged_count);
    std::fill_n(staged, staged_count, T(0));
    const std::int64_t out_pitch = round_up(planes.positions(), loops.lanes);
    T* out = workspace->array<T>(kOutputPlanes, planes.out_channels * out_pitch);
    const Correlation<T> correlation{out,
                                     out_pitch,
                                     staged,
                                     offsets,
                                     planes.taps(),
                                     weights,
                                     planes.out_channels,
                                     planes.positions()};
    const std::int64_t out_plane = planes.rows.out * planes.columns.out;
    for (std::int64_t b = 0; b < planes.batch; ++b) {
      stage_image(planes, staged, x.data<T>() + b * planes.image());
      loops.correlate(correlation);
      T* to = y.data<T>() + b * planes.out_image();
      for (std::int64_t o = 0; o < planes.out_channels; ++o) {
        unstage_output(planes, to + o * out_plane, out + o * out_pitch,
                       bias.empty() ? T(0) : bias.data<T>()[o]);
      }
    }
  });
}

void CpuKernels::conv2d_backward_input(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                                       const DeviceArray& weight, const Conv2dOptions& options) {
  const ConvolutionPlanes planes(dx.shape, weight.shape, dy.shape, options);
  visit_floating(dx.dtype, [&]<typename T>() {
    // With a stride, there may be elements that no tap reads.
    if (options.stride > 1 || planes.nothing()) std::fill_n(dx.data<T>(), dx.count(), T(0));
    if (planes.nothing()) return;
    const PlaneKernels<T>& loops = plane_kernels<T>();
    const auto workspace = workspaces_.borrow();
    const GradientPlanes gradient(planes);
    const std::int64_t staged_count = planes.out_channels * gradient.plane + loops.lanes;
    T* staged = workspace->array<T>(kInputPlanes, staged_count);
    std::fill_n(staged, staged_count, T(0));
    const std::int64_t most_taps = planes.out_channels * planes.rows.kernel * planes.columns.kernel;
    auto* offsets = workspace->array<std::int64_t>(kOffsets, most_taps);
    T* weights = workspace->array<T>(kWeights, most_taps * planes.in_channels);
    const std::int64_t out_pitch = round_up(planes.plane(), loops.lanes);
    T* out = workspace->array<T>(kOutputPlanes, planes.in_channels * out_pitch);
    const std::int64_t out_plane = planes.rows.out * planes.columns.out;
    const std::int64_t in_plane = planes.rows.in * planes.columns.in;
    planes.for_each_phase([&](std::int64_t row_phase, std::int64_t column_phase) {
      const PhaseGradient<T> phase(planes, row_phase, column_phase);
      if (phase.empty()) return;
      const std::int64_t taps = phase.stage_taps(offsets, weights, weight.data<T>());
      const Correlation<T> correlation{out,     out_pitch,          staged,           offsets, taps,
                                       weights, planes.in_channels, phase.positions()};
      for (std::int64_t b = 0; b < planes.batch; ++b) {
        const T* from = dy.data<T>() + b * planes.out_image();
        for (std::int64_t o = 0; o < planes.out_channels; ++o) {
          stage_gradient(planes, staged + o * gradient.plane + gradient.origin,
                         from + o * out_plane);
        }
        loops.correlate(correlation);
        T* image = dx.data<T>() + b * planes.image();
        for (std::int64_t c = 0; c < planes.in_channels; ++c) {
          phase.unstage(image + c * in_plane, out + c * out_pitch);
        }
      }
    });
  });
}

void CpuKernels::conv2d_backward_weight(LaunchContext&, const DeviceArray& dweight,
                                        const DeviceArray& dy, const DeviceArray& x,
                                        const Conv2dOptions& options) {
  constexpr std::int64_t kChunkBytes = 256 << 10;
  const ConvolutionPlanes planes(x.shape, dweight.shape, dy.shape, options);
  visit_floating(dweight.dtype, [&]<typename T>() {
    std::fill_n(dweight.data<T>(), dweight.count(), T(0));
    if (planes.nothing()) return;
    const PlaneKernels<T>& loops = plane_kernels<T>();
    const auto workspace = workspaces_.borrow();
    auto* offsets = workspace->array<std::int64_t>(kOffsets, planes.taps());
    stage_offsets(planes, offsets);
    const std::int64_t in_stride = round_up(planes.staged_image() + loops.lanes, loops.lanes);
    const std::int64_t gradient_pitch = round_up(planes.positions(), loops.lanes);
    const std::int64_t gradient_stride = planes.out_channels * gradient_pitch;
    const auto image_bytes = static_cast<std::int64_t>(sizeof(T)) * (in_stride + gradient_stride);
    const std::int64_t chunk = std::clamp<std::int64_t>(kChunkBytes / image_bytes, 1, planes.batch);
    T* staged = workspace->array<T>(kInputPlanes, chunk * in_stride);
    T* gradient = workspace->array<T>(kOutputPlanes, chunk * gradient_stride);
    std::fill_n(staged, chunk * in_stride, T(0));
    std::fill_n(gradient, chunk * gradient_stride, T(0));
    const std::int64_t out_plane = planes.rows.out * planes.columns.out;
    for (std::int64_t first = 0; first < planes.batch; first += chunk) {
      const std::int64_t images = std::min(chunk, planes.batch - first);
      for (std::int64_t i = 0; i < images; ++i) {
        stage_image(planes, staged + i * in_stride, x.data<T>() + (first + i) * planes.image());
        const T* from = dy.data<T>() + (first + i) * planes.out_image();
        for (std::int64_t o = 0; o < planes.out_channels; ++o) {
          stage_gradient(planes, gradient + i * gradient_stride + o * gradient_pitch,
                         from + o * out_plane);
        }
      }
      loops.add_products({dweight.data<T>(), gradient, gradient_stride, gradient_pitch, staged,
                          in_stride, offsets, planes.taps(), planes.out_channels, images,
                          planes.positions()});
    }
  });
}

void CpuKernels::conv2d_backward_bias(LaunchContext&, const DeviceArray& dbias,
                                      const DeviceArray& dy) {
  visit_floating(dbias.dtype, [&]<typename T>() {
    const std::int64_t channels = dy.shape[1];
    const std::int64_t positions = dy.shape[2] * dy.shape[3];
    for (std::int64_t o = 0; o < channels; ++o) {
      double sum = 0;
      for (std::int64_t b = 0; b < dy.shape[0]; ++b) {
        const T* gradient = dy.data<T>() + (b * channels + o) * positions;
        sum += lane_sum(positions, [gradient](std::int64_t p) -> double { return gradient[p]; });
      }
      dbias.data<T>()[o] = static_cast<T>(sum);
    }
  });
}

}  // namespace ringside
