// CPU kernels where an operator's gradient does not show them: odd sizes, in-place use, special
// values, float32 beside float64, the optimiser's step.
#include <cmath>

#include <gtest/gtest.h>

#include "ringside/error.h"
#include "support/inline_device.h"
#include "tensor/random_values.h"

namespace ringside::test {
namespace {

using Values = std::vector<double>;

class CpuKernel : public ::testing::Test {
 protected:
  Tensor tensor(const Shape& shape, const Values& values, DType dtype = DType::kFloat32) {
    return Tensor::from_host(device_, shape, dtype, values, MemoryKind::kInputs);
  }
  Tensor vector(const Values& values, DType dtype = DType::kFloat32) {
    return tensor({static_cast<std::int64_t>(values.size())}, values, dtype);
  }
  template <typename Call>
  void launch(Call call) {
    device_.compute().enqueue([&](LaunchContext& context) { call(context.kernels, context); });
    device_.synchronize();
  }
  InlineDevice device_;
};

TEST_F(CpuKernel, AddTakesEveryDtypeAndWorksInPlace) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64}) {
    for (const std::int64_t count : {0, 1, 7, 64, 1000}) {
      Values a(static_cast<std::size_t>(count), 3);
      Values b(static_cast<std::size_t>(count), 5);
      const Tensor left = vector(a, dtype);
      const Tensor right = vector(b, dtype);
      launch([&](Kernels& k, LaunchContext& c) {
        k.add(c, left.array(), 2, left.array(), 1, right.array());
      });
      EXPECT_EQ(host_values(left), Values(a.size(), 11)) << to_string(dtype) << " " << count;
      launch([&](Kernels& k, LaunchContext& c) {
        k.add(c, right.array(), 1, left.array(), -1, right.array());
      });
      EXPECT_EQ(host_values(right), Values(a.size(), 6)) << to_string(dtype) << " " << count;
    }
  }
}

TEST_F(CpuKernel, ScaleRoundsItsFactorFirst) {
  const Tensor x = vector({3});
  launch([&](Kernels& k, LaunchContext& c) { k.scale(c, x.array(), x.array(), 1.0 / 3); });
  EXPECT_EQ(host_values(x), Values{static_cast<double>(3.0F * (1.0F / 3.0F))});
}

TEST_F(CpuKernel, ReluKeepsNanAndPassesItsGradient) {
  const Tensor y = relu(vector({NAN, -1, 0, 2}));
  const Values values = host_values(y);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(Values(values.begin() + 1, values.end()), (Values{0, 0, 2}));
  const Tensor dx = vector({9, 9, 9, 9});
  launch([&](Kernels& k, LaunchContext& c) {
    k.relu_backward(c, dx.array(), vector({5, 6, 7, 8}).array(), y.array());
  });
  EXPECT_EQ(host_values(dx), (Values{5, 0, 0, 8}));
}

TEST_F(CpuKernel, AMatrixProductOverNothingIsZero) {
  const Tensor c = tensor({2, 3}, Values(6, 7));
  const Tensor a = tensor({2, 0}, {});
  const Tensor b = tensor({0, 3}, Values());
  GemmOptions keep;
  keep.beta = 2;
  launch([&](Kernels& k, LaunchContext& x) { k.gemm(x, c.array(), a.array(), b.array(), keep); });
  EXPECT_EQ(host_values(c), Values(6, 14));
  launch([&](Kernels& k, LaunchContext& x) { k.gemm(x, c.array(), a.array(), b.array(), {}); });
  EXPECT_EQ(host_values(c), Values(6, 0));
}

TEST_F(CpuKernel, MaxPoolTakesTheFirstOfEqualsAndNanBeforeAll) {
  const Tensor x = tensor({1, 1, 2, 4}, {1, 1, NAN, 5, 1, 1, 7, NAN});
  const Tensor y = tensor({1, 1, 1, 2}, {0, 0});
  const Tensor argmax = tensor({1, 1, 1, 2}, {0, 0}, DType::kInt64);
  launch([&](Kernels& k, LaunchContext& c) {
    k.max_pool2d(c, y.array(), argmax.array(), x.array(), {2, 2});
  });
  EXPECT_EQ(host_values(argmax), (Values{0, 2}));
  EXPECT_TRUE(std::isnan(host_values(y)[1]));
}

TEST_F(CpuKernel, BatchNormMovesTheRunningStatistics) {
  // Channel values 1, 3: mean 2, biased variance 1, unbiased 2.
  const Tensor x = tensor({2, 1}, {1, 3}, DType::kFloat64);
  Tensor mean = vector({10}, DType::kFloat64);
  Tensor variance = vector({20}, DType::kFloat64);
  const Tensor one = vector({1}, DType::kFloat64);
  const Tensor zero = vector({0}, DType::kFloat64);
  const Tensor y = batch_norm(x, one, zero, mean, variance, true, 0.25, 0);
  EXPECT_EQ(host_values(y), (Values{-1, 1}));
  EXPECT_EQ(host_values(mean), Values{0.75 * 10 + 0.25 * 2});
  EXPECT_EQ(host_values(variance), Values{0.75 * 20 + 0.25 * 2});
  const Tensor evaluated = batch_norm(x, one, zero, mean, variance, false, 0.25, 0.5);
  EXPECT_EQ(host_values(mean), Values{8}) << "evaluation moves nothing";
  EXPECT_NEAR(host_values(evaluated)[1], (3 - 8) / std::sqrt(15.5 + 0.5), 1e-15);
}

TEST_F(CpuKernel, Float32AgreesWithFloat64) {
  const auto network = [&](DType dtype) {
    const auto random = [&](const Shape& shape, std::uint32_t seed) {
      return tensor(shape, random_values(shape.numel(), seed), dtype);
    };
    Tensor weight = random({3, 2, 3, 3}, 1);
    weight.set_requires_grad(true);
    const Tensor y = conv2d(random({2, 2, 9, 7}, 2), weight, random({3}, 3), {2, 1});
    const Tensor z = flatten(tanh(max_pool2d(y, {2, 1})));
    backward(mse_loss(z, random(z.shape(), 4)));
    return host_values(weight.grad());
  };
  const Values single = network(DType::kFloat32);
  const Values twofold = network(DType::kFloat64);
  for (std::size_t i = 0; i < single.size(); ++i) EXPECT_NEAR(single[i], twofold[i], 2e-6);
}

/// One step of every kind with numbers that are exact.
TEST_F(CpuKernel, SgdFollowsItsFormula) {
  struct Case {
    SgdOptions options;
    bool first;
    double parameter, velocity;
  };
  // parameter 2, gradient 4, velocity 8.
  const std::vector<Case> cases{
      {{0.5, 0, 0, 0, false}, true, 2 - 0.5 * 4, 8},
      {{0.5, 0, 0, 0.25, false}, true, 2 - 0.5 * 4.5, 8},
      {{0.5, 0.5, 0, 0, false}, true, 2 - 0.5 * 4, 4},
      {{0.5, 0.5, 0.75, 0, false}, false, 2 - 0.5 * 5, 5},
      {{0.5, 0.5, 0, 0.25, true}, false, 2 - 0.5 * (4.5 + 0.5 * 8.5), 8.5}};
  for (const Case& step : cases) {
    for (const std::size_t count : {1U, 5U, 64U, 77U}) {
      const Tensor parameter = vector(Values(count, 2));
      const Tensor velocity = vector(Values(count, 8));
      const Tensor gradient = vector(Values(count, 4));
      launch([&](Kernels& k, LaunchContext& c) {
        k.sgd(c, parameter.array(), gradient.array(), velocity.array(), step.first, step.options);
      });
      EXPECT_EQ(host_values(parameter), Values(count, step.parameter));
      EXPECT_EQ(host_values(velocity), Values(count, step.velocity));
    }
  }
}

TEST_F(CpuKernel, CrossEntropyOfNoRowsIsNanAndOfHugeLogitsFinite) {
  EXPECT_TRUE(std::isnan(
      host_value(cross_entropy(tensor({0, 3}, Values()), vector(Values(), DType::kInt64)), 0)));
  EXPECT_EQ(host_value(cross_entropy(tensor({1, 2}, {1e30, -1e30}), targets_of(device_, {0})), 0),
            0);
}

TEST_F(CpuKernel, ATargetOutsideTheClassesIsAnAsynchronousErrorThatNamesIt) {
  const Tensor logits = tensor({3, 4}, Values(12, 0));
  for (const double bad : {4.0, -1.0, -99.0}) {
    const Tensor loss = cross_entropy(logits, targets_of(device_, {0, bad, 1}));
    try {
      host_value(loss, 0);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
      EXPECT_EQ(std::string(error.what()), "cross_entropy: target " +
                                               std::to_string(static_cast<int>(bad)) +
                                               " of row 1 is outside [0, 4)");
    }
  }
}

TEST_F(CpuKernel, CountCorrectTakesTheFirstOfEquals) {
  const Tensor logits = tensor({3, 2}, {1, 1, 0, 5, 2, 1});
  EXPECT_EQ(host_value(count_correct(logits, targets_of(device_, {0, 1, 1})), 0), 2);
  EXPECT_EQ(host_value(count_correct(logits, targets_of(device_, {1, 0, 1})), 0), 0);
}

}  // namespace
}  // namespace ringside::test
