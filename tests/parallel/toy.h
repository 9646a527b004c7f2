// The toy model of the golden numbers: y = w x without bias, w = 1, x = 1, 2, 3, 4, t = 2x + 1,
// mean squared error.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "ringside/strategy.h"
#include "ringside/world.h"

namespace ringside::test {

inline std::shared_ptr<Module> toy_model(Device& device, double weight = 1) {
  Generator generator(0);
  auto module = make_linear({device, DType::kFloat64, generator}, 1, 1, false);
  Tensor parameter = module->named_parameters().front().tensor;
  fill_in_place(parameter, weight);
  return module;
}

inline Batch toy_batch(Device& device, const std::vector<double>& x) {
  std::vector<double> targets;
  for (const double value : x) targets.push_back(2 * value + 1);
  const Shape shape{static_cast<std::int64_t>(x.size()), 1};
  return {Tensor::from_host(device, shape, DType::kFloat64, x, MemoryKind::kInputs),
          Tensor::from_host(device, shape, DType::kFloat64, targets, MemoryKind::kInputs)};
}

inline Tensor toy_loss(const Tensor& output, const Tensor& targets) {
  return mse_loss(output, targets);
}

inline OptimizerFactory toy_sgd(double lr) {
  return [lr](std::vector<NamedTensor> parameters) {
    SgdOptions options;
    options.lr = lr;
    return make_sgd(std::move(parameters), options);
  };
}

inline double weight_of(Strategy& strategy) {
  return host_value(strategy.module().named_parameters().front().tensor, 0);
}

inline double gradient_of(Strategy& strategy) {
  return host_value(strategy.module().named_parameters().front().tensor.grad(), 0);
}

inline std::unique_ptr<World> sim_world(int size) {
  WorldOptions options;
  options.size = size;
  return open_world("sim", options);
}

}  // namespace ringside::test
