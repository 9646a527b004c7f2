// Convolution as three matrix products whose operands are read where they lie (tiled_product.cuh):
// im2col would write and read the input once per element of the kernel.
#include "backends/cuda/blocks.cuh"
#include "backends/cuda/convolution_geometry.h"
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"
#include "backends/cuda/tiled_product.cuh"
#include "backends/cuda/workspace.h"

namespace ringside::cuda {
namespace {

using Geometry = ConvolutionGeometry;

/// x at tap (c, ki, kj) of output position (b, i, j), as a matrix [taps, positions]; 0 in the
/// padding.
template <typename T>
struct Patches {
  const T* x;
  Geometry g;
  __device__ T at(int tap, int position) const {
    const int b = position / g.out_plane();
    const int place = position % g.out_plane();
    const int c = tap / g.kernel();
    const int of_kernel = tap % g.kernel();
    const int row = place / g.out_width * g.stride - g.padding + of_kernel / g.kernel_width;
    const int column = place % g.out_width * g.stride - g.padding + of_kernel % g.kernel_width;
    if (row < 0 || row >= g.height || column < 0 || column >= g.width) return T(0);
    return x[(static_cast<std::int64_t>(b) * g.in_channels + c) * g.plane() + row * g.width +
             column];
  }
};

/// y[o, position] = Σ weight[o, tap] patches[tap, position] + bias[o].
template <typename T>
struct Forward {
  T* y;
  Patches<T> patches;
  const T* weight;
  const T* bias;  // or null
  __device__ int rows() const { return patches.g.out_channels; }
  __device__ int columns() const { return patches.g.out_positions(); }
  __device__ int part_begin(int) const { return 0; }
  __device__ int part_end(int) const { return patches.g.taps(); }
  __device__ T a(int o, int tap) const { return weight[o * patches.g.taps() + tap]; }
  __device__ T b(int tap, int position) const { return patches.at(tap, position); }
  __device__ void store(int, int o, int position, T sum) const {
    const Geometry& g = patches.g;
    const std::int64_t plane =
        static_cast<std::int64_t>(position / g.out_plane()) * g.out_channels + o;
    y[plane * g.out_plane() + position % g.out_plane()] = bias == nullptr ? sum : sum + bias[o];
  }
};

/// dx[c, position] = Σ weight[o, c, ki, kj] dy[o, the output position that meets it there].
template <typename T>
struct BackwardInput {
  T* dx;
  const T* dy;
  const T* weight;
  Geometry g;
  __device__ int rows() const { return g.in_channels; }
  __device__ int columns() const { return g.positions(); }
  __device__ int part_begin(int) const { return 0; }
  __device__ int part_end(int) const { return g.out_channels * g.kernel(); }
  __device__ T a(int c, int tap) const {
    return weight[(tap / g.kernel() * g.in_channels + c) * g.kernel() + tap % g.kernel()];
  }
  __device__ T b(int tap, int position) const {
    const int o = tap / g.kernel();
    const int of_kernel = tap % g.kernel();
    const int batch = position / g.plane();
    const int place = position % g.plane();
    const int row = place / g.width + g.padding - of_kernel / g.kernel_width;
    const int column = place % g.width + g.padding - of_kernel % g.kernel_width;
    if (row < 0 || column < 0 || row % g.stride != 0 || column % g.stride != 0) return T(0);
    const int i = row / g.stride;
    const int j = column / g.stride;
    if (i >= g.out_height || j >= g.out_width) return T(0);
    return dy[(static_cast<std::int64_t>(batch) * g.out_channels + o) * g.out_plane() +
              i * g.out_width + j];
  }
  __device__ void store(int, int c, int position, T sum) const {
    const std::int64_t plane = static_cast<std::int64_t>(position / g.plane()) * g.in_channels + c;
    dx[plane * g.plane() + position % g.plane()] = sum;
  }
};

/// out[part, o, tap] = Σ dy[o, position] patches[tap, position] over the part's positions.
template <typename T>
struct BackwardWeight {
  T* out;
  const T* dy;
  Patches<T> patches;
  int positions_per_part;
  __device__ int rows() const { return patches.g.out_channels; }
  __device__ int columns() const { return patches.g.taps(); }
  __device__ int part_begin(int part) const { return part * positions_per_part; }
  __device__ int part_end(int part) const {
    return min((part + 1) * positions_per_part, patches.g.out_positions());
  }
  __device__ T a(int o, int position) const {
    const Geometry& g = patches.g;
    const std::int64_t plane =
        static_cast<std::int64_t>(position / g.out_plane()) * g.out_channels + o;
    return dy[plane * g.out_plane() + position % g.out_plane()];
  }
  __device__ T b(int position, int tap) const { return patches.at(tap, position); }
  __device__ void store(int part, int o, int tap, T sum) const {
    out[(static_cast<std::int64_t>(part) * rows() + o) * columns() + tap] = sum;
  }
};

/// dweight = the sum of the parts, in ascending order.
template <typename T>
struct SumParts {
  T* out;
  const T* parts;
  std::size_t count;
  int number;
  template <int N>
  __device__ void at(std::size_t i) const {
    Pack<T, N> sum = load<N>(parts + i);
    for (int part = 1; part < number; ++part) {
      for (int n = 0; n < N; ++n) sum[n] += parts[static_cast<std::size_t>(part) * count + i + n];
    }
    store(out + i, sum);
  }
};

template <typename T, typename Problem>
void multiply(const LaunchContext& context, const Problem& problem, std::int64_t rows,
              std::int64_t columns, int parts) {
  if (rows == 0 || columns == 0) return;
  tiled::product_kernel<T>
      <<<tiled::grid(rows, columns, parts), tiled::kBlock, 0, stream_of(context)>>>(problem);
  RINGSIDE_CUDA_CHECK(cudaGetLastError());
}

template <typename T>
__global__ void bias_gradient_kernel(T* dbias, const T* dy, int batch, int channels,
                                     std::int64_t positions) {
  const std::int64_t o = blockIdx.x;
  const double sum = block_sum_of(batch * positions, [&](std::int64_t i) -> double {
    return dy[(i / positions * channels + o) * positions + i % positions];
  });
  if (threadIdx.x == 0) dbias[o] = static_cast<T>(sum);
}

}  // namespace

void CudaKernels::conv2d(LaunchContext& context, const DeviceArray& y, const DeviceArray& x,
                         const DeviceArray& weight, const DeviceArray& bias,
                         const Conv2dOptions& options) {
  const Geometry g(x.shape, weight.shape, y.shape, options);
  visit_trainable(y.dtype, [&]<typename T>() {
    const Forward<T> problem{y.data<T>(), {x.data<T>(), g}, weight.data<T>(), bias.data<T>()};
    multiply<T>(context, problem, g.out_channels, g.out_positions(), 1);
  });
}

void CudaKernels::conv2d_backward_input(LaunchContext& context, const DeviceArray& dx,
                                        const DeviceArray& dy, const DeviceArray& weight,
                                        const Conv2dOptions& options) {
  const Geometry g(dx.shape, weight.shape, dy.shape, options);
  visit_trainable(dx.dtype, [&]<typename T>() {
    const BackwardInput<T> problem{dx.data<T>(), dy.data<T>(), weight.data<T>(), g};
    multiply<T>(context, problem, g.in_channels, g.positions(), 1);
  });
}

void CudaKernels::conv2d_backward_weight(LaunchContext& context, const DeviceArray& dweight,
                                         const DeviceArray& dy, const DeviceArray& x,
                                         const Conv2dOptions& options) {
  const Geometry g(x.shape, dweight.shape, dy.shape, options);
  const dim3 tiles = tiled::grid(g.out_channels, g.taps(), 1);
  const int parts = weight_gradient_parts(std::int64_t{tiles.x} * tiles.y, g.out_positions());
  const int per_part = (g.out_positions() + parts - 1) / parts;
  visit_trainable(dweight.dtype, [&]<typename T>() {
    T* out = dweight.data<T>();
    const std::size_t count = dweight.count();
    const std::size_t scratch = parts > 1 ? count * static_cast<std::size_t>(parts) : 0;
    const StreamWorkspace workspace(stream_of(context), scratch * sizeof(T));
    T* sums = parts > 1 ? workspace.data<T>() : out;
    multiply<T>(context, BackwardWeight<T>{sums, dy.data<T>(), {x.data<T>(), g}, per_part},
                g.out_channels, g.taps(), parts);
    if (parts == 1) return;
    for_elements<T>(context, count, {out, sums}, SumParts<T>{out, sums, count, parts});
  });
}

void CudaKernels::conv2d_backward_bias(LaunchContext& context, const DeviceArray& dbias,
                                       const DeviceArray& dy) {
  if (dbias.count() == 0) return;
  visit_trainable(dbias.dtype, [&]<typename T>() {
    bias_gradient_kernel<<<static_cast<unsigned>(dbias.count()), kThreads, 0, stream_of(context)>>>(
        dbias.data<T>(), dy.data<T>(), static_cast<int>(dy.shape[0]), static_cast<int>(dy.shape[1]),
        dy.shape[2] * dy.shape[3]);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace ringside::cuda
