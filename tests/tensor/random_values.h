// Random inputs for tests, the same on every run.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "ringside/tensor.h"

namespace ringside::test {

/// `count` values between -1 and 1.
inline std::vector<double> random_values(std::int64_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = static_cast<double>(engine()) / 2147483648.0 - 1;
  return values;
}

/// `count` values, no two nearer to each other, and none nearer to 0, than 0.05: nothing changes
/// its order under a small step.
inline std::vector<double> spaced_values(std::int64_t count, std::uint32_t seed) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0.5 - std::floor(static_cast<double>(count) / 2));
  std::shuffle(values.begin(), values.end(), std::mt19937(seed));
  for (double& value : values) value *= 0.1;
  return values;
}

/// A float64 leaf that requires grad.
inline Tensor leaf(Device& device, const Shape& shape, const std::vector<double>& values,
                   DType dtype = DType::kFloat64, const std::string& name = {}) {
  Tensor tensor = Tensor::from_host(device, shape, dtype, values, MemoryKind::kParameters, name);
  tensor.set_requires_grad(true);
  return tensor;
}

inline Tensor random_leaf(Device& device, const Shape& shape, std::uint32_t seed,
                          DType dtype = DType::kFloat64, const std::string& name = {}) {
  return leaf(device, shape, random_values(shape.numel(), seed), dtype, name);
}

inline Tensor targets_of(Device& device, const std::vector<double>& classes) {
  return Tensor::from_host(device, {static_cast<std::int64_t>(classes.size())}, DType::kInt64,
                           classes, MemoryKind::kInputs);
}

}  // namespace ringside::test
