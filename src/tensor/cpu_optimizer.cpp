// The optimiser's step on one parameter.
#include "tensor/cpu_kernel_set.h"

namespace ringside {
namespace {

/// PyTorch's order of operations (optim/sgd.py): weight decay, velocity, Nesterov, step.
template <typename T, bool kMomentum>
void sgd_step(T* __restrict parameter, const T* __restrict gradient, T* __restrict velocity,
              std::size_t count, bool first, const SgdOptions& options) {
  const T lr = static_cast<T>(options.lr);
  const T momentum = static_cast<T>(options.momentum);
  const T fresh = static_cast<T>(1 - options.dampening);
  const T weight_decay = static_cast<T>(options.weight_decay);
  for (std::size_t i = 0; i < count; ++i) {
    T step = gradient[i];
    if (weight_decay != T(0)) step += weight_decay * parameter[i];
    if constexpr (kMomentum) {
      velocity[i] = first ? step : momentum * velocity[i] + fresh * step;
      step = options.nesterov ? step + momentum * velocity[i] : velocity[i];
    }
    parameter[i] -= lr * step;
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

}  // namespace ringside
