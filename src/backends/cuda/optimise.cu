// The optimisers' steps: one launch each, PyTorch's formulas in the CPU's order, so that the same
// gradients give the same parameters to the bit.
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"
#include "tensor/adam_factors.h"

namespace ringside::cuda {
namespace {

/// optim/sgd.py: sign, weight decay, velocity, Nesterov, step.
template <typename T>
struct Sgd {
  T* parameter;
  const T* gradient;
  T* velocity;  // null without momentum
  T lr, momentum, fresh, weight_decay;
  bool first, nesterov, maximize;

  Sgd(const DeviceArray& parameter_array, const DeviceArray& gradient_array,
      const DeviceArray& velocity_array, bool first_step, const SgdOptions& options)
      : parameter(parameter_array.data<T>()),
        gradient(gradient_array.data<T>()),
        velocity(options.momentum != 0 ? velocity_array.data<T>() : nullptr),
        lr(static_cast<T>(options.lr)),
        momentum(static_cast<T>(options.momentum)),
        fresh(static_cast<T>(1 - options.dampening)),
        weight_decay(static_cast<T>(options.weight_decay)),
        first(first_step),
        nesterov(options.nesterov),
        maximize(options.maximize) {}

  template <int N>
  __device__ void at(std::size_t i) const {
    auto values = load<N>(parameter + i);
    auto steps = load<N>(gradient + i);
    for (int n = 0; n < N; ++n) {
      if (maximize) steps[n] = -steps[n];
      if (weight_decay != T(0)) steps[n] += weight_decay * values[n];
    }
    if (velocity != nullptr) {
      auto moved = first ? steps : load<N>(velocity + i);
      for (int n = 0; n < N; ++n) {
        if (!first) moved[n] = momentum * moved[n] + fresh * steps[n];
        steps[n] = nesterov ? steps[n] + momentum * moved[n] : moved[n];
      }
      store(velocity + i, moved);
    }
    for (int n = 0; n < N; ++n) values[n] -= lr * steps[n];
    store(parameter + i, values);
  }
};

/// optim/adam.py and adamw.py.
template <typename T>
struct Adam {
  T* parameter;
  const T* gradient;
  T* first;
  T* second;
  T* largest;  // null without amsgrad
  AdamFactors<T> f;

  template <int N>
  __device__ void at(std::size_t i) const {
    auto values = load<N>(parameter + i);
    const auto gradients = load<N>(gradient + i);
    auto firsts = load<N>(first + i);
    auto seconds = load<N>(second + i);
    Pack<T, N> moments;
    for (int n = 0; n < N; ++n) {
      values[n] = values[n] * f.shrink;
      T g = f.sign * gradients[n];
      if (f.decay != T(0)) g += f.decay * values[n];
      firsts[n] = firsts[n] * f.beta1 + f.fresh1 * g;
      seconds[n] = seconds[n] * f.beta2 + f.fresh2 * g * g;
      moments[n] = seconds[n];
    }
    store(first + i, firsts);
    store(second + i, seconds);
    if (largest != nullptr) {
      const auto before = load<N>(largest + i);
      for (int n = 0; n < N; ++n) moments[n] = before[n] < moments[n] ? moments[n] : before[n];
      store(largest + i, moments);
    }
    for (int n = 0; n < N; ++n) {
      const T denominator = sqrt(moments[n]) / f.correction + f.epsilon;
      values[n] = values[n] - f.step_size * firsts[n] / denominator;
    }
    store(parameter + i, values);
  }
};

}  // namespace

void CudaKernels::sgd(LaunchContext& context, const DeviceArray& parameter,
                      const DeviceArray& gradient, const DeviceArray& velocity, bool first,
                      const SgdOptions& options) {
  visit_trainable(parameter.dtype, [&]<typename T>() {
    const Sgd<T> body(parameter, gradient, velocity, first, options);
    for_elements<T>(context, parameter.count(), {body.parameter, body.gradient, body.velocity},
                    body);
  });
}

void CudaKernels::adam(LaunchContext& context, const DeviceArray& parameter,
                       const DeviceArray& gradient, const DeviceArray& first_moment,
                       const DeviceArray& second_moment, const DeviceArray& largest_second,
                       std::int64_t step, const AdamOptions& options) {
  visit_trainable(parameter.dtype, [&]<typename T>() {
    const Adam<T> body{parameter.data<T>(),
                       gradient.data<T>(),
                       first_moment.data<T>(),
                       second_moment.data<T>(),
                       options.amsgrad ? largest_second.data<T>() : nullptr,
                       AdamFactors<T>(step, options)};
    for_elements<T>(context, parameter.count(),
                    {body.parameter, body.gradient, body.first, body.second, body.largest}, body);
  });
}

}  // namespace ringside::cuda
