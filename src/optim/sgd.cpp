// Stochastic gradient descent with momentum. [optim/sgd.py]

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "ringside/error.h"
#include "ringside/optim.h"

namespace ringside {
namespace {

void check_not_negative(std::string_view what, double value) {
  if (value >= 0 && std::isfinite(value)) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("SGD: {} {}: must be a number that is not negative", what, value));
}

void check(const std::vector<NamedTensor>& parameters, const SgdOptions& options) {
  check_not_negative("lr", options.lr);
  check_not_negative("momentum", options.momentum);
  check_not_negative("weight_decay", options.weight_decay);
  if (!std::isfinite(options.dampening)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("SGD: dampening {}: must be finite", options.dampening));
  }
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("SGD: Nesterov with momentum {} and dampening {}: it requires a "
                            "momentum and zero dampening",
                            options.momentum, options.dampening));
  }
  if (parameters.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "SGD: there are no parameters to optimise");
  }
}

/// Operations per element of one step.
double flops_per_element(const SgdOptions& options) {
  double flops = 2;  // p - lr * d
  if (options.weight_decay != 0) flops += 2;
  if (options.momentum != 0) flops += 3;
  if (options.nesterov) flops += 2;
  return flops;
}

class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<NamedTensor> parameters, const SgdOptions& options) : options_(options) {
    check(parameters, options);
    for (NamedTensor& entry : parameters) slots_.push_back({std::move(entry), {}});
  }

  void step() override {
    for (Slot& slot : slots_) {
      if (const Tensor gradient = slot.parameter.tensor.grad()) update(slot, gradient);
    }
  }

  void zero_grad(bool set_to_none) override {
    for (Slot& slot : slots_) {
      Tensor gradient = slot.parameter.tensor.grad();
      if (!gradient) continue;
      if (set_to_none) {
        slot.parameter.tensor.set_grad({});
      } else {
        fill_in_place(gradient, 0);
      }
    }
  }

  std::string describe() const override {
    std::string text = fmt::format("SGD(lr={}", options_.lr);
    if (options_.momentum != 0) text += fmt::format(", momentum={}", options_.momentum);
    if (options_.dampening != 0) text += fmt::format(", dampening={}", options_.dampening);
    if (options_.weight_decay != 0) text += fmt::format(", weight_decay={}", options_.weight_decay);
    if (options_.nesterov) text += ", nesterov";
    return text + ")";
  }

 private:
  struct Slot {
    NamedTensor parameter;
    Tensor velocity;  // undefined without momentum and before the first step
  };

  void update(Slot& slot, const Tensor& gradient) {
    const Tensor& parameter = slot.parameter.tensor;
    const bool first = !slot.velocity.defined();
    if (first && options_.momentum != 0) {
      slot.velocity =
          Tensor::empty(parameter.device(), parameter.shape(), parameter.dtype(),
                        MemoryKind::kOptimizerState, slot.parameter.name + ".momentum_buffer");
    }
    const DeviceArray velocity = slot.velocity.defined() ? slot.velocity.array() : DeviceArray();

    std::vector<TensorRef> reads = {{slot.parameter.name, &parameter.array()},
                                    {gradient.name(), &gradient.array()}};
    std::vector<TensorRef> writes = {{slot.parameter.name, &parameter.array()}};
    if (!velocity.empty()) {
      if (!first) reads.push_back({slot.velocity.name(), &velocity});
      writes.push_back({slot.velocity.name(), &velocity});
    }
    OpInfo info;
    info.name = "sgd";
    info.label = slot.parameter.name;
    info.flops = flops_per_element(options_) * static_cast<double>(parameter.numel());
    info.reads = reads;
    info.writes = writes;
    parameter.device().compute().submit(
        info, [p = parameter.array(), g = gradient.array(), velocity, first,
               options = options_](LaunchContext& context) {
          context.kernels.sgd(context, p, g, velocity, first, options);
        });
  }

  SgdOptions options_;
  std::vector<Slot> slots_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(std::vector<NamedTensor> parameters,
                                    const SgdOptions& options) {
  return std::make_unique<Sgd>(std::move(parameters), options);
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          std::vector<NamedTensor> parameters,
                                          const SgdOptions& options) {
  if (name == "sgd") return make_sgd(std::move(parameters), options);
  throw Error(ErrorKind::kInvalidArgument, fmt::format("optimizer '{}': must be sgd", name));
}

}  // namespace ringside
