// What optimisers of one parameter at a time share: slots, gradients, state by name.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/inline_vector.h"
#include "ringside/optim.h"

namespace ringside {

class ParameterOptimizer : public Optimizer {
 public:
  void step() override;
  void zero_grad(bool set_to_none) override;
  std::vector<NamedTensor> state_dict() const override;
  void load_state_dict(const std::vector<NamedTensor>& state) override;

 protected:
  static constexpr std::size_t kMostStates = 3;
  /// What an update reads or writes: the parameter, its gradient, its states.
  using References = InlineVector<TensorRef, kMostStates + 2>;

  struct Slot {
    NamedTensor parameter;
    std::array<Tensor, kMostStates> state;  ///< undefined before the first step, or if not needed
    std::int64_t steps = 0;
  };

  /// `state_names` (at most kMostStates, literals) are PyTorch's keys: "exp_avg". `counts_steps`:
  /// the number of steps is part of the state, as "step". Throws for no parameters.
  ParameterOptimizer(std::string_view name, std::vector<NamedTensor> parameters,
                     std::span<const std::string_view> state_names, bool counts_steps);

  /// One step of one parameter; slot.steps counts it already.
  virtual void update(Slot& slot, const Tensor& gradient) = 0;
  /// Whether state number `index` is kept at all.
  virtual bool keeps(std::size_t index) const = 0;

  /// An uninitialised state tensor in the shape of the slot's parameter, with its name.
  Tensor make_state(const Slot& slot, std::size_t index) const;

 private:
  std::string key(const Slot& slot, std::string_view state) const;

  std::vector<Slot> slots_;
  std::span<const std::string_view> state_names_;
  bool counts_steps_;
};

/// Throws Error(kInvalidArgument) "SGD: lr -1: must be a number that is not negative".
void check_not_negative(std::string_view optimizer, std::string_view what, double value);

}  // namespace ringside
