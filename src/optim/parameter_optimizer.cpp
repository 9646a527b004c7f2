#include "optim/parameter_optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <utility>

#include "ringside/error.h"

namespace ringside {
namespace {

constexpr std::string_view kStep = "step";

/// The entries of a state that are asked for, and what is wrong with it.
class GivenState {
 public:
  explicit GivenState(const std::vector<NamedTensor>& state) {
    for (const NamedTensor& entry : state) entries_.emplace(entry.name, entry.tensor);
  }
  /// An undefined tensor if it is not there.
  Tensor take(const std::string& name) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return {};
    Tensor tensor = std::move(found->second);
    entries_.erase(found);
    return tensor;
  }
  void expect_nothing_left() const {
    std::vector<std::string_view> unexpected;
    for (const auto& [name, tensor] : entries_) unexpected.emplace_back(name);
    if (unexpected.empty()) return;
    fail(fmt::format("unexpected: {}", fmt::join(unexpected, ", ")));
  }
  [[noreturn]] static void fail(const std::string& fault) {
    throw Error(ErrorKind::kInvalidInput, fmt::format("load_state_dict: {}", fault),
                "the state must come from the same optimizer of the same model");
  }

 private:
  std::map<std::string, Tensor> entries_;
};

/// A float32 as in PyTorch, or an int64 of older files: a whole number in any case.
std::int64_t steps_of(const Tensor& tensor, const std::string& name) {
  constexpr double kMost = 9e15;  // below it every whole number is a double
  if (tensor.numel() != 1) {
    GivenState::fail(fmt::format("{} is {}, must be one number", name, to_string(tensor.shape())));
  }
  const double steps = host_values(tensor, 1).front();
  if (!(steps >= 1 && steps <= kMost) || steps != std::floor(steps)) {
    GivenState::fail(fmt::format("{} is {}, must be a whole number from 1", name, steps));
  }
  return static_cast<std::int64_t>(steps);
}

}  // namespace

void check_not_negative(std::string_view optimizer, std::string_view what, double value) {
  if (value >= 0 && std::isfinite(value)) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("{}: {} {}: must be a number that is not negative", optimizer, what, value));
}

ParameterOptimizer::ParameterOptimizer(std::string_view name, std::vector<NamedTensor> parameters,
                                       std::span<const std::string_view> state_names,
                                       bool counts_steps)
    : state_names_(state_names), counts_steps_(counts_steps) {
  if (parameters.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: there are no parameters to optimise", name));
  }
  for (NamedTensor& entry : parameters) slots_.push_back({std::move(entry), {}, 0});
}

void ParameterOptimizer::step() {
  for (Slot& slot : slots_) {
    const Tensor gradient = slot.parameter.tensor.grad();
    if (!gradient) continue;
    ++slot.steps;
    update(slot, gradient);
  }
}

void ParameterOptimizer::zero_grad(bool set_to_none) {
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

std::string ParameterOptimizer::key(const Slot& slot, std::string_view state) const {
  return fmt::format("{}.{}", slot.parameter.name, state);
}

Tensor ParameterOptimizer::make_state(const Slot& slot, std::size_t index) const {
  const Tensor& parameter = slot.parameter.tensor;
  return Tensor::empty(parameter.device(), parameter.shape(), parameter.dtype(),
                       MemoryKind::kOptimizerState, key(slot, state_names_[index]));
}

std::vector<NamedTensor> ParameterOptimizer::state_dict() const {
  std::vector<NamedTensor> state;
  for (const Slot& slot : slots_) {
    if (slot.steps == 0) continue;
    if (counts_steps_) {
      state.push_back(
          {key(slot, kStep), Tensor::full(slot.parameter.tensor.device(), Shape{}, DType::kFloat32,
                                          static_cast<double>(slot.steps), MemoryKind::kWorkspace,
                                          key(slot, kStep))});
    }
    for (std::size_t i = 0; i < state_names_.size(); ++i) {
      if (keeps(i)) state.push_back({key(slot, state_names_[i]), slot.state[i]});
    }
  }
  return state;
}

void ParameterOptimizer::load_state_dict(const std::vector<NamedTensor>& state) {
  GivenState given(state);
  std::vector<Slot> loaded;
  for (const Slot& slot : slots_) {
    Slot fresh{slot.parameter, {}, 0};
    std::size_t needed = counts_steps_ ? 1 : 0;
    std::size_t found = 0;
    if (counts_steps_) {
      if (const Tensor steps = given.take(key(slot, kStep))) {
        fresh.steps = steps_of(steps, key(slot, kStep));
        ++found;
      }
    }
    for (std::size_t i = 0; i < state_names_.size(); ++i) {
      if (!keeps(i)) continue;
      ++needed;
      const Tensor value = given.take(key(slot, state_names_[i]));
      if (!value) continue;
      ++found;
      const Tensor& parameter = slot.parameter.tensor;
      if (value.shape() != parameter.shape()) {
        GivenState::fail(fmt::format("{} is {}, but its parameter is {}",
                                     key(slot, state_names_[i]), to_string(value.shape()),
                                     to_string(parameter.shape())));
      }
      fresh.state[i] = Tensor::from_host(parameter.device(), parameter.shape(), parameter.dtype(),
                                         host_values(value), MemoryKind::kOptimizerState,
                                         key(slot, state_names_[i]));
    }
    if (found != 0 && found != needed) {
      GivenState::fail(fmt::format("{} has {} of the {} entries that it needs", slot.parameter.name,
                                   found, needed));
    }
    if (found != 0 && !counts_steps_) fresh.steps = 1;
    loaded.push_back(std::move(fresh));
  }
  given.expect_nothing_left();
  slots_ = std::move(loaded);
}

}  // namespace ringside
