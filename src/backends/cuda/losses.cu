// Losses and the count of correct answers. Sums over rows or elements are taken in float64, in an
// order that depends on their number alone, and rounded once; the mean of nothing is NaN.
#include "backends/cuda/blocks.cuh"
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"
#include "backends/cuda/value_report.cuh"
#include "backends/cuda/workspace.h"

namespace ringside::cuda {
namespace {

using Reduction = CrossEntropyOptions::Reduction;

constexpr unsigned kWholeBlock = 1024;  // where one block must see everything

struct Rows {
  std::int64_t count, classes;
  explicit Rows(const DeviceArray& logits) : count(logits.shape[0]), classes(logits.shape[1]) {}
  /// A warp a row.
  unsigned blocks() const { return blocks_for(static_cast<std::size_t>(count) * kWarp); }
};

/// The rows of this thread's warp: visit(row, lane).
template <typename Visit>
__device__ void for_own_rows(std::int64_t rows, const Visit& visit) {
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / kWarp);
  for (std::int64_t r = blockIdx.x * std::int64_t{blockDim.x / kWarp} + threadIdx.x / kWarp;
       r < rows; r += warps) {
    visit(r, static_cast<std::int64_t>(threadIdx.x % kWarp));
  }
}

/// probabilities = softmax(logits) of one row, by a warp; returns log(sum(exp(logits))).
template <typename T>
__device__ T softmax(T* probabilities, const T* logits, std::int64_t classes, std::int64_t lane) {
  T largest = logits[0];
  for (std::int64_t j = lane; j < classes; j += kWarp) largest = fmax(largest, logits[j]);
  largest = warp_max(largest);
  T sum = 0;
  for (std::int64_t j = lane; j < classes; j += kWarp) {
    const T power = exp(logits[j] - largest);
    probabilities[j] = power;
    sum += power;
  }
  sum = warp_sum(sum);
  for (std::int64_t j = lane; j < classes; j += kWarp) probabilities[j] /= sum;
  return largest + log(sum);
}

/// What cross_entropy writes to beside the probabilities: `of_rows` for a later sum, or the loss
/// itself without a reduction.
template <typename T>
struct RowLosses {
  double* of_rows;
  T* losses;
};

template <typename T>
__global__ void cross_entropy_kernel(RowLosses<T> out, T* probabilities, const T* logits,
                                     const std::int64_t* targets, Rows rows,
                                     CrossEntropyOptions options, ValueReporter reporter) {
  for_own_rows(rows.count, [&](std::int64_t r, std::int64_t lane) {
    const T* row = logits + r * rows.classes;
    const T log_sum = softmax(probabilities + r * rows.classes, row, rows.classes, lane);
    const std::int64_t target = targets[r];
    double loss = 0;
    if (target != options.ignore_index && target >= 0 && target < rows.classes) {
      loss = static_cast<double>(log_sum - row[target]);
      if (options.label_smoothing != 0) {
        double of_all = 0;
        for (std::int64_t j = lane; j < rows.classes; j += kWarp) {
          of_all += static_cast<double>(log_sum - row[j]);
        }
        of_all = warp_sum(of_all);
        loss = (1 - options.label_smoothing) * loss +
               options.label_smoothing / static_cast<double>(rows.classes) * of_all;
      }
    } else if (target != options.ignore_index && lane == 0) {
      report_value(reporter, Checked::kCrossEntropy, r, target, rows.classes);
    }
    if (lane != 0) return;
    if (out.of_rows != nullptr) {
      out.of_rows[r] = loss;
    } else {
      out.losses[r] = static_cast<T>(loss);
    }
  });
}

/// The number of rows that are not ignored, by a block.
__device__ double counted_rows(const std::int64_t* targets, std::int64_t rows,
                               std::int64_t ignore_index) {
  return block_sum_of(rows,
                      [&](std::int64_t r) -> double { return targets[r] == ignore_index ? 0 : 1; });
}

template <typename T>
__global__ void __launch_bounds__(kWholeBlock)
    reduce_losses_kernel(T* loss, const double* of_rows, const std::int64_t* targets,
                         std::int64_t rows, CrossEntropyOptions options) {
  double sum = block_sum_of(rows, [&](std::int64_t r) { return of_rows[r]; });
  if (options.reduction == Reduction::kMean) {
    sum /= counted_rows(targets, rows, options.ignore_index);
  }
  if (threadIdx.x == 0) *loss = static_cast<T>(sum);
}

template <typename T>
__global__ void cross_entropy_backward_kernel(T* dlogits, const T* dloss, const T* probabilities,
                                              const std::int64_t* targets, Rows rows,
                                              CrossEntropyOptions options) {
  // Every block counts for itself: a launch before this one would take longer.
  const T divisor = options.reduction == Reduction::kMean
                        ? static_cast<T>(counted_rows(targets, rows.count, options.ignore_index))
                        : T(1);
  const T spread = static_cast<T>(options.label_smoothing / static_cast<double>(rows.classes));
  const T hit = static_cast<T>(1 - options.label_smoothing);
  for_own_rows(rows.count, [&](std::int64_t r, std::int64_t lane) {
    const T* probability = probabilities + r * rows.classes;
    T* out = dlogits + r * rows.classes;
    const std::int64_t target = targets[r];
    const bool ignored = target == options.ignore_index;
    const T factor = dloss[options.reduction == Reduction::kNone ? r : 0] / divisor;
    for (std::int64_t j = lane; j < rows.classes; j += kWarp) {
      const T above = probability[j] - spread;
      const T gradient = (j == target ? above - hit : above) * factor;
      out[j] = ignored ? T(0) : gradient;
    }
  });
}

/// One block: losses are small, and one launch is quicker than two.
template <typename T>
__global__ void __launch_bounds__(kWholeBlock)
    mse_kernel(T* loss, const T* x, const T* y, std::int64_t count) {
  const double sum = block_sum_of(count, [&](std::int64_t i) {
    const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    return difference * difference;
  });
  if (threadIdx.x == 0) *loss = static_cast<T>(sum / static_cast<double>(count));
}

template <typename T>
struct MseBackward {
  T* dx;
  const T* dloss;
  const T* x;
  const T* y;
  std::size_t count;
  template <int N>
  __device__ void at(std::size_t i) const {
    const T factor = T(2) * *dloss / static_cast<T>(count);
    auto left = load<N>(x + i);
    const auto right = load<N>(y + i);
    for (int n = 0; n < N; ++n) left[n] = factor * (left[n] - right[n]);
    store(dx + i, left);
  }
};

/// The place of a row's largest value, the first of equals, by a warp. As std::max_element: NaN is
/// never larger, and nothing is larger than one in front.
template <typename T>
__device__ std::int64_t largest_place(const T* row, std::int64_t classes, std::int64_t lane) {
  T largest = row[0];
  std::int64_t place = 0;
  for (std::int64_t j = lane; j < classes; j += kWarp) {
    if (row[j] > largest) {
      largest = row[j];
      place = j;
    }
  }
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) {
    const T other = __shfl_xor_sync(kWholeWarp, largest, static_cast<int>(apart));
    const std::int64_t other_place =
        __shfl_xor_sync(kWholeWarp, static_cast<long long>(place), static_cast<int>(apart));
    if (other > largest || (other == largest && other_place < place)) {
      largest = other;
      place = other_place;
    }
  }
  return place;
}

/// One block, which so needs no atomics and no zero to begin with.
template <typename T>
__global__ void __launch_bounds__(kWholeBlock)
    count_correct_kernel(std::int64_t* correct, const T* logits, const std::int64_t* targets,
                         Rows rows, ValueReporter reporter) {
  double count = 0;  // whole numbers up to 2^53 are exact
  for_own_rows(rows.count, [&](std::int64_t r, std::int64_t lane) {
    const std::int64_t place = largest_place(logits + r * rows.classes, rows.classes, lane);
    if (lane != 0) return;
    const std::int64_t target = targets[r];
    if (target < 0 || target >= rows.classes) {
      report_value(reporter, Checked::kCountCorrect, r, target, rows.classes);
    }
    if (place == target) ++count;
  });
  count = block_sum(count);
  if (threadIdx.x == 0) *correct = static_cast<std::int64_t>(count);
}

}  // namespace

void CudaKernels::cross_entropy(LaunchContext& context, const DeviceArray& loss,
                                const DeviceArray& probabilities, const DeviceArray& logits,
                                const DeviceArray& targets, const CrossEntropyOptions& options) {
  const Rows rows(logits);
  const cudaStream_t stream = stream_of(context);
  const bool reduces = options.reduction != Reduction::kNone;
  const auto* target = targets.data<std::int64_t>();
  const std::size_t scratch = reduces ? static_cast<std::size_t>(rows.count) * sizeof(double) : 0;
  const StreamWorkspace workspace(stream, scratch);
  visit_trainable(logits.dtype, [&]<typename T>() {
    if (rows.count > 0) {
      const RowLosses<T> out{workspace.data<double>(), loss.data<T>()};
      cross_entropy_kernel<<<rows.blocks(), kThreads, 0, stream>>>(
          out, probabilities.data<T>(), static_cast<const T*>(logits.data<T>()), target, rows,
          options, value_check_.reporter());
      RINGSIDE_CUDA_CHECK(cudaGetLastError());
    }
    if (!reduces) return;
    reduce_losses_kernel<<<1, kWholeBlock, 0, stream>>>(loss.data<T>(), workspace.data<double>(),
                                                        target, rows.count, options);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::cross_entropy_backward(LaunchContext& context, const DeviceArray& dlogits,
                                         const DeviceArray& dloss, const DeviceArray& probabilities,
                                         const DeviceArray& targets,
                                         const CrossEntropyOptions& options) {
  const Rows rows(dlogits);
  if (dlogits.count() == 0) return;
  visit_trainable(dlogits.dtype, [&]<typename T>() {
    cross_entropy_backward_kernel<<<rows.blocks(), kThreads, 0, stream_of(context)>>>(
        dlogits.data<T>(), static_cast<const T*>(dloss.data<T>()),
        static_cast<const T*>(probabilities.data<T>()), targets.data<std::int64_t>(), rows,
        options);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::mse(LaunchContext& context, const DeviceArray& loss, const DeviceArray& x,
                      const DeviceArray& y) {
  visit_trainable(x.dtype, [&]<typename T>() {
    mse_kernel<<<1, kWholeBlock, 0, stream_of(context)>>>(
        loss.data<T>(), static_cast<const T*>(x.data<T>()), static_cast<const T*>(y.data<T>()),
        static_cast<std::int64_t>(x.count()));
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

void CudaKernels::mse_backward(LaunchContext& context, const DeviceArray& dx,
                               const DeviceArray& dloss, const DeviceArray& x,
                               const DeviceArray& y) {
  visit_trainable(dx.dtype, [&]<typename T>() {
    const MseBackward<T> body{dx.data<T>(), dloss.data<T>(), x.data<T>(), y.data<T>(), dx.count()};
    for_elements<T>(context, dx.count(), {body.dx, body.x, body.y}, body);
  });
}

void CudaKernels::count_correct(LaunchContext& context, const DeviceArray& correct,
                                const DeviceArray& logits, const DeviceArray& targets) {
  visit_trainable(logits.dtype, [&]<typename T>() {
    count_correct_kernel<<<1, kWholeBlock, 0, stream_of(context)>>>(
        correct.data<std::int64_t>(), static_cast<const T*>(logits.data<T>()),
        targets.data<std::int64_t>(), Rows(logits), value_check_.reporter());
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace ringside::cuda
