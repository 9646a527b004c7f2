// Gradients by central differences, to compare an operator's backward with.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/inline_device.h"
#include "tensor/random_values.h"

namespace ringside::test {

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// Expects backward of f to give, for every float64 leaf in `inputs`, the gradient of
/// sum(r * f(inputs)) for a random r.
inline void expect_gradients(Device& device, const Function& f, const std::vector<Tensor>& inputs) {
  const Tensor y = f(inputs);
  const std::vector<double> r = random_values(y.numel(), 99);
  backward(y, Tensor::from_host(device, y.shape(), y.dtype(), r, MemoryKind::kInputs));

  const auto value = [&](const std::vector<Tensor>& at) {
    const NoGradScope no_grad(device);
    const std::vector<double> values = host_values(f(at));
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += r[i] * values[i];
    return sum;
  };
  constexpr double kStep = 1e-5;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].requires_grad()) continue;
    ASSERT_TRUE(inputs[k].grad().defined()) << "input " << k << " got no gradient";
    ASSERT_EQ(inputs[k].grad().shape(), inputs[k].shape());
    const std::vector<double> gradient = host_values(inputs[k].grad());
    const std::vector<double> values = host_values(inputs[k]);
    std::vector<Tensor> moved = inputs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value_at = [&](double x) {
        std::vector<double> changed = values;
        changed[i] = x;
        moved[k] = leaf(device, inputs[k].shape(), changed);
        return value(moved);
      };
      const double slope =
          (value_at(values[i] + kStep) - value_at(values[i] - kStep)) / (2 * kStep);
      EXPECT_NEAR(gradient[i], slope, 1e-7 * (1 + std::abs(slope)))
          << "input " << k << ", element " << i;
    }
  }
}

}  // namespace ringside::test
