// What the tests of optimisers share: a device and tensors on it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ringside/optim.h"
#include "support/inline_device.h"

namespace ringside::test {

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
