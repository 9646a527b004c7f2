// The two kinds of ranks of a parameter-server run, and what they share.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "parallel/parameter_server_layout.h"
#include "ringside/strategy.h"

namespace ringside {

/// Computes gradients on its own rows, pushes them, and pulls weights or the sum of the gradients.
std::unique_ptr<Strategy> make_worker(std::shared_ptr<Module> module, Rank& rank,
                                      const ParameterServerOptions& options);
/// Adds up what its workers push, and answers their pulls.
std::unique_ptr<Strategy> make_server(std::shared_ptr<Module> module, Rank& rank,
                                      const ParameterServerOptions& options);

/// What workers and servers exchange: the parameters that require a gradient when the strategy is
/// made. The others stay as each worker has them.
std::vector<NamedTensor> trained_parameters(const Module& module);

/// of a rank that does not update: no parameters, no state.
class NoOptimizer final : public Optimizer {
 public:
  void step() override {}
  void zero_grad(bool /*set_to_none*/) override {}
  std::string describe() const override { return "none"; }
  std::vector<NamedTensor> state_dict() const override { return {}; }
  void load_state_dict(const std::vector<NamedTensor>& /*state*/) override {}
};

/// sum += terms, in order, each times `factor` before it is added (as DDP divides before it adds);
/// the first term begins the sum unless `continues`. One recorded op each; overwrites the terms
/// that are scaled and added.
void accumulate(Tensor& sum, std::vector<Tensor>& terms, double factor, bool continues);

}  // namespace ringside
