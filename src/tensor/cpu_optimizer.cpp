// The optimisers' steps on one parameter, and the clipping of all gradients.
#include <algorithm>
#include <cmath>

#include "tensor/adam_factors.h"
#include "tensor/cpu_kernel_set.h"
#include "tensor/lane_sum.h"

namespace ringside {
namespace {

/// PyTorch's order of operations (optim/sgd.py): sign, weight decay, velocity, Nesterov, step.
template <typename T, bool kMomentum>
void sgd_step(T* __restrict parameter, const T* __restrict gradient, T* __restrict velocity,
              std::size_t count, bool first, const SgdOptions& options) {
  const T lr = static_cast<T>(options.lr);
  const T momentum = static_cast<T>(options.momentum);
  const T fresh = static_cast<T>(1 - options.dampening);
  const T weight_decay = static_cast<T>(options.weight_decay);
  for (std::size_t i = 0; i < count; ++i) {
    T step = options.maximize ? -gradient[i] : gradient[i];
    if (weight_decay != T(0)) step += weight_decay * parameter[i];
    if constexpr (kMomentum) {
      velocity[i] = first ? step : momentum * velocity[i] + fresh * step;
      step = options.nesterov ? step + momentum * velocity[i] : velocity[i];
    }
    parameter[i] -= lr * step;
  }
}

template <typename T, bool kAmsgrad>
void adam_step(T* __restrict parameter, const T* __restrict gradient, T* __restrict first,
               T* __restrict second, T* __restrict largest, std::size_t count,
               const AdamFactors<T>& f) {
  for (std::size_t i = 0; i < count; ++i) {
    const T p = parameter[i] * f.shrink;
    T g = f.sign * gradient[i];
    if (f.decay != T(0)) g += f.decay * p;
    first[i] = first[i] * f.beta1 + f.fresh1 * g;
    second[i] = second[i] * f.beta2 + f.fresh2 * g * g;
    T moment = second[i];
    if constexpr (kAmsgrad) moment = largest[i] = std::max(largest[i], moment);
    const T denominator = std::sqrt(moment) / f.correction + f.epsilon;
    parameter[i] = p - f.step_size * first[i] / denominator;
  }
}

}  // namespace

void CpuKernels::sgd(LaunchContext&, const DeviceArray& parameter, const DeviceArray& gradient,
                     const DeviceArray& velocity, bool first, const SgdOptions& options) {
  visit_floating(parameter.dtype, [&]<typename T>() {
    if (options.momentum != 0) {
      sgd_step<T, true>(parameter.data<T>(), gradient.data<T>(), velocity.data<T>(),
                        parameter.count(), first, options);
    } else {
      sgd_step<T, false>(parameter.data<T>(), gradient.data<T>(), nullptr, parameter.count(), first,
                         options);
    }
  });
}

void CpuKernels::adam(LaunchContext&, const DeviceArray& parameter, const DeviceArray& gradient,
                      const DeviceArray& first_moment, const DeviceArray& second_moment,
                      const DeviceArray& largest_second, std::int64_t step,
                      const AdamOptions& options) {
  visit_floating(parameter.dtype, [&]<typename T>() {
    const AdamFactors<T> factors(step, options);
    const auto run = options.amsgrad ? adam_step<T, true> : adam_step<T, false>;
    run(parameter.data<T>(), gradient.data<T>(), first_moment.data<T>(), second_moment.data<T>(),
        largest_second.data<T>(), parameter.count(), factors);
  });
}

// Norms are rounded to the dtype one by one, as PyTorch's tensors of norms are.
void CpuKernels::total_norm(LaunchContext&, const DeviceArray& total,
                            std::span<const DeviceArray> arrays) {
  visit_floating(total.dtype, [&]<typename T>() {
    double squares = 0;
    for (const DeviceArray& array : arrays) {
      const T* __restrict values = array.data<T>();
      const double sum = lane_sum(static_cast<std::int64_t>(array.count()), [&](std::int64_t i) {
        const double value = values[i];
        return value * value;
      });
      const double norm = static_cast<T>(std::sqrt(sum));
      squares += norm * norm;
    }
    *total.data<T>() = static_cast<T>(std::sqrt(squares));
  });
}

void CpuKernels::clip_with_norm(LaunchContext&, std::span<const DeviceArray> gradients,
                                const DeviceArray& total, double max_norm) {
  visit_floating(total.dtype, [&]<typename T>() {
    const T wanted = static_cast<T>(max_norm) / (*total.data<T>() + static_cast<T>(1e-6));
    const T factor = wanted > T(1) ? T(1) : wanted;  // NaN stays NaN, as in PyTorch
    for (const DeviceArray& array : gradients) {
      T* __restrict gradient = array.data<T>();
      const std::size_t count = array.count();
      for (std::size_t i = 0; i < count; ++i) gradient[i] *= factor;
    }
  });
}

}  // namespace ringside
