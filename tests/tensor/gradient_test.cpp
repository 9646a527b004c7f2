// Every differentiable operator against central differences in float64.
#include <gtest/gtest.h>

#include "tensor/finite_differences.h"

namespace ringside::test {
namespace {

class Gradient : public ::testing::Test {
 protected:
  Tensor random(const Shape& shape) { return random_leaf(device_, shape, ++seed_); }
  Tensor spaced(const Shape& shape) {
    return leaf(device_, shape, spaced_values(shape.numel(), ++seed_));
  }
  void expect(const Function& f, const std::vector<Tensor>& inputs) {
    expect_gradients(device_, f, inputs);
  }
  InlineDevice device_;
  std::uint32_t seed_ = 0;
};

TEST_F(Gradient, Linear) {
  for (const auto& [rows, in, out] : {std::array{5, 4, 3}, {1, 1, 1}, {7, 2, 9}}) {
    expect([](const auto& t) { return linear(t[0], t[1], t[2]); },
           {random({rows, in}), random({out, in}), random({out})});
    expect([](const auto& t) { return linear(t[0], t[1], {}); },
           {random({rows, in}), random({out, in})});
  }
}

TEST_F(Gradient, ReluAndTanh) {
  expect([](const auto& t) { return relu(t[0]); }, {spaced({3, 7})});
  expect([](const auto& t) { return tanh(t[0]); }, {random({3, 7})});
}

TEST_F(Gradient, FlattenAndReshape) {
  expect([](const auto& t) { return tanh(flatten(t[0])); }, {random({2, 3, 2, 2})});
  expect([](const auto& t) { return tanh(reshape(t[0], {3, 4})); }, {random({2, 6})});
}

TEST_F(Gradient, AddAndScale) {
  expect([](const auto& t) { return add(tanh(t[0]), scale(t[1], -2.5)); },
         {random({4, 3}), random({4, 3})});
}

struct ConvolutionCase {
  Shape input, weight;
  Conv2dOptions options;
};

TEST_F(Gradient, Conv2d) {
  const std::vector<ConvolutionCase> cases{
      {{2, 1, 5, 5}, {3, 1, 3, 3}, {1, 0}}, {{2, 3, 6, 5}, {2, 3, 3, 2}, {1, 1}},
      {{1, 2, 7, 8}, {2, 2, 3, 3}, {2, 1}}, {{1, 1, 9, 4}, {1, 1, 2, 3}, {3, 2}},
      {{2, 2, 3, 3}, {1, 2, 3, 3}, {1, 0}}, {{1, 2, 4, 4}, {3, 2, 1, 1}, {1, 0}},
      {{1, 1, 2, 2}, {1, 1, 5, 5}, {2, 3}}};
  for (const auto& [input, weight, options] : cases) {
    SCOPED_TRACE("input " + to_string(input) + ", weight " + to_string(weight) + ", stride " +
                 std::to_string(options.stride) + ", padding " + std::to_string(options.padding));
    const auto& conv_options = options;
    expect([&](const auto& t) { return conv2d(t[0], t[1], t[2], conv_options); },
           {random(input), random(weight), random({weight[0]})});
    expect([&](const auto& t) { return conv2d(t[0], t[1], {}, conv_options); },
           {random(input), random(weight)});
  }
}

TEST_F(Gradient, MaxPool2d) {
  for (const auto& [kernel, stride] : {std::pair{2, 2}, {3, 2}, {2, 1}, {2, 3}}) {
    const Pool2dOptions options{kernel, stride};
    expect([&](const auto& t) { return max_pool2d(t[0], options); }, {spaced({2, 2, 5, 6})});
  }
}

TEST_F(Gradient, BatchNormInTrainingAndInEvaluation) {
  for (const bool training : {true, false}) {
    for (const Shape& shape : {Shape{6, 3}, Shape{2, 3, 5}, Shape{2, 2, 3, 2}}) {
      const auto f = [&](const std::vector<Tensor>& t) {
        const Shape channels{shape[1]};
        const Tensor mean =
            Tensor::full(device_, channels, DType::kFloat64, 0.3, MemoryKind::kParameters);
        const Tensor variance =
            Tensor::full(device_, channels, DType::kFloat64, 1.7, MemoryKind::kParameters);
        return batch_norm(t[0], t[1], t[2], mean, variance, training, 0.1, 1e-5);
      };
      expect(f, {random(shape), random({shape[1]}), random({shape[1]})});
    }
  }
}

TEST_F(Gradient, CrossEntropy) {
  const Tensor targets = targets_of(device_, {2, 0, 3, 3, 1});
  expect([&](const auto& t) { return cross_entropy(t[0], targets); }, {random({5, 4})});
  expect([&](const auto& t) { return cross_entropy(scale(t[0], 20), targets); }, {random({5, 4})});
}

TEST_F(Gradient, MseLossOnBothSides) {
  expect([](const auto& t) { return mse_loss(t[0], t[1]); }, {random({3, 4}), random({3, 4})});
}

TEST_F(Gradient, AWholeNetwork) {
  const Tensor targets = targets_of(device_, {1, 0, 2});
  const auto f = [&](const std::vector<Tensor>& t) {
    const Tensor features = max_pool2d(tanh(conv2d(t[0], t[1], t[2], {1, 1})), {2, 2});
    return cross_entropy(linear(flatten(features), t[3], t[4]), targets);
  };
  expect(f, {random({3, 1, 4, 4}), random({2, 1, 3, 3}), random({2}), random({3, 8}), random({3})});
}

}  // namespace
}  // namespace ringside::test
