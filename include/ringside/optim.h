// Optimisers with PyTorch's formulas (optim/sgd.py, adam.py, adamw.py), step by step in the same
// order of operations, and the clipping of gradients.
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
  /// What the steps so far have left, with PyTorch's keys behind the parameter's name:
  /// "0.weight.momentum_buffer"; "0.weight.step" (float32), "0.weight.exp_avg",
  /// "0.weight.exp_avg_sq", "0.weight.max_exp_avg_sq". Parameters without a step so far have none.
  virtual std::vector<NamedTensor> state_dict() const = 0;
  /// Takes such a state over (copied), of another device or dtype too; blocks the host. Throws
  /// Error(kInvalidInput) naming unexpected, missing and misshapen entries, and then changes
  /// nothing.
  virtual void load_state_dict(const std::vector<NamedTensor>& state) = 0;
};

/// Throws Error(kInvalidArgument) for lr < 0, momentum < 0, weight_decay < 0, or Nesterov without
/// momentum or with dampening.
std::unique_ptr<Optimizer> make_sgd(std::vector<NamedTensor> parameters, const SgdOptions& options);

/// Adam, or with `decoupled` AdamW. Throws Error(kInvalidArgument) for lr, eps or weight_decay < 0,
/// or a beta outside [0, 1).
std::unique_ptr<Optimizer> make_adam(std::vector<NamedTensor> parameters,
                                     const AdamOptions& options);

/// Scales all gradients so that their total 2-norm is at most `max_norm`; one enqueued op. Returns
/// the norm before, {1}; undefined if no parameter has a gradient. All must be on one device.
/// Throws Error(kInvalidArgument) for max_norm <= 0. [torch.nn.utils.clip_grad_norm_]
Tensor clip_grad_norm(const std::vector<NamedTensor>& parameters, double max_norm);

/// total {1} = the 2-norm of the 2-norms of `tensors`; one enqueued op. All must be on the device
/// and of the dtype of `total`. [torch.nn.utils.get_total_norm]
void total_norm(const Tensor& total, const std::vector<Tensor>& tensors);
/// Scales the gradients by min(1, max_norm / (total + 1e-6)), where their norm `total` {1} is
/// known: the other half of clip_grad_norm, for one who has a part of the gradients. One enqueued
/// op. Throws as clip_grad_norm. [torch.nn.utils.clip_grads_with_norm_]
void clip_with_norm(const std::vector<Tensor>& gradients, const Tensor& total, double max_norm);

/// Of all optimisers; make_optimizer takes what its name needs.
struct OptimizerOptions {
  SgdOptions sgd;
  AdamOptions adam;
  double clip_grad_norm = 0;  ///< before every step; 0 = not
};

/// By name: "sgd", "adam", "adamw" (which sets `decoupled` itself). Throws Error(kInvalidArgument)
/// listing the names.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          std::vector<NamedTensor> parameters,
                                          const OptimizerOptions& options);

}  // namespace ringside
