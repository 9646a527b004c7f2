// Losses and the count of correct answers. Sums over rows or elements are taken in float64 in
// ascending order and rounded once; the mean of nothing is NaN, as in PyTorch.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tensor/cpu_kernel_set.h"

namespace ringside {
namespace {

using Reduction = CrossEntropyOptions::Reduction;

/// An asynchronous error: the values are known only when the launch runs.
void check_target(const char* kernel, std::int64_t target, std::int64_t row, std::int64_t classes) {
  if (target >= 0 && target < classes) return;
  throw Error(
      ErrorKind::kInvalidInput,
      fmt::format("{}: target {} of row {} is outside [0, {})", kernel, target, row, classes),
      fmt::format("the model has {} outputs; targets must be class numbers from 0 to {}", classes,
                  classes - 1));
}

/// probabilities = softmax(logits) of one row; returns log(sum(exp(logits))).
template <typename T>
T softmax(T* __restrict probabilities, const T* __restrict logits, std::int64_t classes) {
  const T largest = *std::max_element(logits, logits + classes);
  T sum = 0;
  for (std::int64_t j = 0; j < classes; ++j) {
    probabilities[j] = std::exp(logits[j] - largest);
    sum += probabilities[j];
  }
  for (std::int64_t j = 0; j < classes; ++j) probabilities[j] /= sum;
  return largest + std::log(sum);
}

/// The loss of one row whose target is partly spread over all classes.
template <typename T>
double smoothed(const T* row, T log_sum, std::int64_t target, std::int64_t classes,
                double smoothing) {
  const auto of_target = static_cast<double>(log_sum - row[target]);
  if (smoothing == 0) return of_target;
  double of_all = 0;
  for (std::int64_t j = 0; j < classes; ++j) of_all += static_cast<double>(log_sum - row[j]);
  return (1 - smoothing) * of_target + smoothing / static_cast<double>(classes) * of_all;
}

}  // namespace

void CpuKernels::cross_entropy(LaunchContext&, const DeviceArray& loss,
                               const DeviceArray& probabilities, const DeviceArray& logits,
                               const DeviceArray& targets, const CrossEntropyOptions& options) {
  visit_floating(logits.dtype, [&]<typename T>() {
    const std::int64_t rows = logits.shape[0];
    const std::int64_t classes = logits.shape[1];
    const auto* target = targets.data<std::int64_t>();
    double sum = 0;
    std::int64_t counted = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      const T* row = logits.data<T>() + i * classes;
      const T log_sum = softmax(probabilities.data<T>() + i * classes, row, classes);
      double of_row = 0;
      if (target[i] != options.ignore_index) {
        check_target("cross_entropy", target[i], i, classes);
        of_row = smoothed(row, log_sum, target[i], classes, options.label_smoothing);
        ++counted;
      }
      if (options.reduction == Reduction::kNone) loss.data<T>()[i] = static_cast<T>(of_row);
      sum += of_row;
    }
    if (options.reduction == Reduction::kNone) return;
    if (options.reduction == Reduction::kMean) sum /= static_cast<double>(counted);
    *loss.data<T>() = static_cast<T>(sum);
  });
}

void CpuKernels::cross_entropy_backward(LaunchContext&, const DeviceArray& dlogits,
                                        const DeviceArray& dloss, const DeviceArray& probabilities,
                                        const DeviceArray& targets,
                                        const CrossEntropyOptions& options) {
  visit_floating(dlogits.dtype, [&]<typename T>() {
    const std::int64_t rows = dlogits.shape[0];
    const std::int64_t classes = dlogits.shape[1];
    const auto* target = targets.data<std::int64_t>();
    const auto counted = rows - std::count(target, target + rows, options.ignore_index);
    const T divisor = static_cast<T>(options.reduction == Reduction::kMean ? counted : 1);
    const T spread = static_cast<T>(options.label_smoothing / static_cast<double>(classes));
    const T hit = static_cast<T>(1 - options.label_smoothing);
    for (std::int64_t i = 0; i < rows; ++i) {
      T* __restrict out = dlogits.data<T>() + i * classes;
      if (target[i] == options.ignore_index) {
        std::fill_n(out, classes, T(0));
        continue;
      }
      const T factor = dloss.data<T>()[options.reduction == Reduction::kNone ? i : 0] / divisor;
      const T* __restrict probability = probabilities.data<T>() + i * classes;
      for (std::int64_t j = 0; j < classes; ++j) out[j] = (probability[j] - spread) * factor;
      out[target[i]] = (probability[target[i]] - spread - hit) * factor;
    }
  });
}

void CpuKernels::mse(LaunchContext&, const DeviceArray& loss, const DeviceArray& x,
                     const DeviceArray& y) {
  visit_floating(x.dtype, [&]<typename T>() {
    const auto left = x.elements<T>();
    const auto right = y.elements<T>();
    double sum = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const double difference = static_cast<double>(left[i]) - static_cast<double>(right[i]);
      sum += difference * difference;
    }
    *loss.data<T>() = static_cast<T>(sum / static_cast<double>(left.size()));
  });
}

void CpuKernels::mse_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dloss,
                              const DeviceArray& x, const DeviceArray& y) {
  visit_floating(dx.dtype, [&]<typename T>() {
    const std::size_t count = dx.count();
    const T factor = T(2) * *dloss.data<T>() / static_cast<T>(count);
    T* __restrict out = dx.data<T>();
    const T* left = x.data<T>();
    const T* right = y.data<T>();
    for (std::size_t i = 0; i < count; ++i) out[i] = factor * (left[i] - right[i]);
  });
}

void CpuKernels::count_correct(LaunchContext&, const DeviceArray& correct,
                               const DeviceArray& logits, const DeviceArray& targets) {
  visit_floating(logits.dtype, [&]<typename T>() {
    const std::int64_t rows = logits.shape[0];
    const std::int64_t classes = logits.shape[1];
    const auto* target = targets.data<std::int64_t>();
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      check_target("count_correct", target[i], i, classes);
      const T* row = logits.data<T>() + i * classes;
      if (std::max_element(row, row + classes) - row == target[i]) ++count;
    }
    *correct.data<std::int64_t>() = count;
  });
}

}  // namespace ringside
