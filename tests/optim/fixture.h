// What the tests of optimisers share: a device, tensors on it, and PyTorch's tolerance.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "ringside/optim.h"
#include "support/inline_device.h"

namespace ringside::test {

inline void expect_near(const Tensor& tensor, const std::vector<double>& expected, bool float32) {
  const std::vector<double> values = host_values(tensor);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double tolerance =
        float32 ? 1e-7 + 1e-6 * std::abs(expected[i]) : 1e-13 * (1 + std::abs(expected[i]));
    EXPECT_NEAR(values[i], expected[i], tolerance) << "element " << i;
  }
}

class OptimizerTest : public ::testing::Test {
 protected:
  Tensor tensor(const std::vector<double>& values, DType dtype = DType::kFloat32) {
    return Tensor::from_host(device_, {static_cast<std::int64_t>(values.size())}, dtype, values,
                             MemoryKind::kParameters);
  }
  Tensor parameter(const std::vector<double>& values, DType dtype = DType::kFloat32) {
    Tensor result = tensor(values, dtype);
    result.set_requires_grad(true);
    return result;
  }
  InlineDevice device_;
};

}  // namespace ringside::test
