// Optimisers with PyTorch's formulas (optim/sgd.py), step by step in the same order of operations.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ringside/nn.h"

namespace ringside {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Updates every parameter that has a gradient; the others, and their momentum, are left alone.
  virtual void step() = 0;
  /// grad = undefined (PyTorch >= 2.0), or zeros (1.13) when `set_to_none` is false.
  virtual void zero_grad(bool set_to_none = true) = 0;
  /// "SGD(lr=0.1, momentum=0.9)".
  virtual std::string describe() const = 0;
};

/// Throws Error(kInvalidArgument) for lr < 0, momentum < 0, weight_decay < 0, or Nesterov without
/// momentum or with dampening.
std::unique_ptr<Optimizer> make_sgd(std::vector<NamedTensor> parameters, const SgdOptions& options);

/// By name ("sgd"). Throws Error(kInvalidArgument) listing the names.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          std::vector<NamedTensor> parameters,
                                          const SgdOptions& options);

}  // namespace ringside
