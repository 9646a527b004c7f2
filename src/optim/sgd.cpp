// Stochastic gradient descent with momentum. [optim/sgd.py]

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "optim/parameter_optimizer.h"
#include "ringside/error.h"
#include "ringside/optim.h"

namespace ringside {
namespace {

constexpr std::array<std::string_view, 1> kSgdStates{"momentum_buffer"};

void check(const SgdOptions& options) {
  check_not_negative("SGD", "lr", options.lr);
  check_not_negative("SGD", "momentum", options.momentum);
  check_not_negative("SGD", "weight_decay", options.weight_decay);
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
}

/// Operations per element of one step.
double flops_per_element(const SgdOptions& options) {
  double flops = 2;  // p - lr * d
  if (options.weight_decay != 0) flops += 2;
  if (options.momentum != 0) flops += 3;
  if (options.nesterov) flops += 2;
  return flops;
}

class Sgd final : public ParameterOptimizer {
 public:
  Sgd(std::vector<NamedTensor> parameters, const SgdOptions& options)
      : ParameterOptimizer("SGD", std::move(parameters), kSgdStates, /*counts_steps=*/false),
        options_(options) {
    check(options);
  }

  std::string describe() const override {
    std::string text = fmt::format("SGD(lr={}", options_.lr);
    if (options_.momentum != 0) text += fmt::format(", momentum={}", options_.momentum);
    if (options_.dampening != 0) text += fmt::format(", dampening={}", options_.dampening);
    if (options_.weight_decay != 0) text += fmt::format(", weight_decay={}", options_.weight_decay);
    if (options_.nesterov) text += ", nesterov";
    if (options_.maximize) text += ", maximize";
    return text + ")";
  }

 private:
  bool keeps(std::size_t) const override { return options_.momentum != 0; }

  void update(Slot& slot, const Tensor& gradient) override {
    const Tensor& parameter = slot.parameter.tensor;
    Tensor& momentum = slot.state[0];
    const bool first = !momentum.defined();
    if (first && options_.momentum != 0) momentum = make_state(slot, 0);
    const DeviceArray velocity = momentum.defined() ? momentum.array() : DeviceArray();

    References reads = {{slot.parameter.name, &parameter.array()},
                        {gradient.name(), &gradient.array()}};
    References writes = {{slot.parameter.name, &parameter.array()}};
    if (!velocity.empty()) {
      if (!first) reads.push_back({momentum.name(), &velocity});
      writes.push_back({momentum.name(), &velocity});
    }
    OpInfo info;
    info.name = options_.nesterov ? "sgd-nesterov" : "sgd";
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
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(std::vector<NamedTensor> parameters,
                                    const SgdOptions& options) {
  return std::make_unique<Sgd>(std::move(parameters), options);
}

}  // namespace ringside
