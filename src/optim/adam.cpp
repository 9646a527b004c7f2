// Adam and AdamW. [optim/adam.py, adamw.py, 1.13; Kingma and Ba, "Adam: a method for stochastic
// optimization", 2014; Loshchilov and Hutter, "Decoupled weight decay regularization", 2017]

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "optim/parameter_optimizer.h"
#include "ringside/error.h"
#include "ringside/optim.h"

namespace ringside {
namespace {

constexpr std::array<std::string_view, 3> kAdamStates{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
constexpr std::size_t kLargest = 2;  // its index: kept with amsgrad only

std::string_view name_of(const AdamOptions& options) {
  return options.decoupled ? "AdamW" : "Adam";
}

void check(const AdamOptions& options) {
  const std::string_view name = name_of(options);
  check_not_negative(name, "lr", options.lr);
  check_not_negative(name, "eps", options.epsilon);
  check_not_negative(name, "weight_decay", options.weight_decay);
  for (const double beta : {options.beta1, options.beta2}) {
    if (beta >= 0 && beta < 1) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: beta {}: must be from 0 to below 1", name, beta));
  }
}

/// Operations per element of one step; a square root counts one.
double flops_per_element(const AdamOptions& options) {
  double flops = 3 + 4 + 3 + 3;  // both moments, the denominator, the step
  if (options.weight_decay != 0) flops += options.decoupled ? 1 : 2;
  if (options.amsgrad) flops += 1;
  return flops;
}

class Adam final : public ParameterOptimizer {
 public:
  Adam(std::vector<NamedTensor> parameters, const AdamOptions& options)
      : ParameterOptimizer(name_of(options), std::move(parameters), kAdamStates,
                           /*counts_steps=*/true),
        options_(options) {
    check(options);
  }

  std::string describe() const override {
    std::string text = fmt::format("{}(lr={}, betas=({}, {}), eps={}", name_of(options_),
                                   options_.lr, options_.beta1, options_.beta2, options_.epsilon);
    if (options_.weight_decay != 0) text += fmt::format(", weight_decay={}", options_.weight_decay);
    if (options_.amsgrad) text += ", amsgrad";
    if (options_.maximize) text += ", maximize";
    return text + ")";
  }

 private:
  bool keeps(std::size_t index) const override { return index != kLargest || options_.amsgrad; }

  void update(Slot& slot, const Tensor& gradient) override {
    const Tensor& parameter = slot.parameter.tensor;
    References reads = {{gradient.name(), &gradient.array()}};
    References writes = {{slot.parameter.name, &parameter.array()}};
    std::array<DeviceArray, kMostStates> states;
    for (std::size_t i = 0; i < kAdamStates.size(); ++i) {
      if (!keeps(i)) continue;
      if (!slot.state[i]) {
        slot.state[i] = make_state(slot, i);
        fill_in_place(slot.state[i], 0);
      }
      states[i] = slot.state[i].array();
      writes.push_back({slot.state[i].name(), &states[i]});
    }
    for (const TensorRef& written : writes) reads.push_back(written);
    OpInfo info;
    info.name = options_.decoupled ? "adamw" : "adam";
    info.label = slot.parameter.name;
    info.flops = flops_per_element(options_) * static_cast<double>(parameter.numel());
    info.reads = reads;
    info.writes = writes;
    parameter.device().compute().submit(
        info, [p = parameter.array(), g = gradient.array(), states, step = slot.steps,
               options = options_](LaunchContext& context) {
          context.kernels.adam(context, p, g, states[0], states[1], states[2], step, options);
        });
  }

  AdamOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(std::vector<NamedTensor> parameters,
                                     const AdamOptions& options) {
  return std::make_unique<Adam>(std::move(parameters), options);
}

}  // namespace ringside
