// What a step of Adam computes once, in float64 as PyTorch does, and then rounds.
#pragma once

#include <cmath>
#include <cstdint>

#include "ringside/kernels.h"

namespace ringside {

template <typename T>
struct AdamFactors {
  AdamFactors(std::int64_t step, const AdamOptions& options)
      : shrink(static_cast<T>(options.decoupled ? 1 - options.lr * options.weight_decay : 1)),
        decay(static_cast<T>(options.decoupled ? 0 : options.weight_decay)),
        beta1(static_cast<T>(options.beta1)),
        fresh1(static_cast<T>(1 - options.beta1)),
        beta2(static_cast<T>(options.beta2)),
        fresh2(static_cast<T>(1 - options.beta2)),
        epsilon(static_cast<T>(options.epsilon)),
        sign(static_cast<T>(options.maximize ? -1 : 1)) {
    const auto t = static_cast<double>(step);
    step_size = static_cast<T>(options.lr / (1 - std::pow(options.beta1, t)));
    correction = static_cast<T>(std::sqrt(1 - std::pow(options.beta2, t)));
  }
  T shrink, decay, beta1, fresh1, beta2, fresh2, epsilon, sign;
  T step_size;   // lr / (1 - beta1^t)
  T correction;  // sqrt(1 - beta2^t)
};

}  // namespace ringside
