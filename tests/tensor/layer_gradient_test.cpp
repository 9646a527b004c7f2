// The operators of normalisation, regularisation and attention against central differences in
// float64.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tensor/finite_differences.h"

namespace ringside::test {
namespace {

class LayerGradient : public ::testing::Test {
 protected:
  Tensor random(const Shape& shape) { return random_leaf(device_, shape, ++seed_); }
  Tensor indices(const Shape& shape, const std::vector<double>& values) {
    return Tensor::from_host(device_, shape, DType::kInt64, values, MemoryKind::kInputs);
  }
  void expect(const Function& f, const std::vector<Tensor>& inputs) {
    expect_gradients(device_, f, inputs);
  }
  InlineDevice device_;
  std::uint32_t seed_ = 50;
};

TEST_F(LayerGradient, Gelu) {
  expect([](const auto& t) { return gelu(scale(t[0], 3)); }, {random({3, 7})});
}

TEST_F(LayerGradient, Dropout) {
  for (const double p : {0.0, 0.3, 0.9, 1.0}) {
    expect([&](const auto& t) { return dropout(t[0], p, {7, 1, 2, 3}); }, {random({5, 9})});
  }
}

TEST_F(LayerGradient, AvgPool2d) {
  for (const auto& [kernel, stride] : {std::pair{2, 2}, {3, 2}, {2, 1}, {2, 3}, {5, 5}}) {
    const Pool2dOptions options{kernel, stride};
    expect([&](const auto& t) { return avg_pool2d(t[0], options); }, {random({2, 2, 5, 6})});
  }
}

TEST_F(LayerGradient, LayerNorm) {
  for (const Shape& shape : {Shape{6, 3}, Shape{2, 3, 17}, Shape{5}, Shape{4, 1}}) {
    const Shape last{shape[-1]};
    expect([](const auto& t) { return layer_norm(t[0], t[1], t[2], 1e-5); },
           {random(shape), random(last), random(last)});
  }
}

// Token 1 comes three times: its gradient is a sum; row 3 does not come at all.
TEST_F(LayerGradient, Embedding) {
  const Tensor tokens = indices({2, 3}, {1, 0, 1, 2, 1, 4});
  expect([&](const auto& t) { return tanh(embedding(tokens, t[0])); }, {random({5, 3})});
}

TEST_F(LayerGradient, AddPositions) {
  for (const std::int64_t context : {3, 5}) {
    expect([](const auto& t) { return tanh(add_positions(t[0], t[1])); },
           {random({2, 3, 4}), random({context, 4})});
  }
}

TEST_F(LayerGradient, SplitAndMergeHeads) {
  for (const std::size_t part : {0U, 1U, 2U}) {
    expect([&](const auto& t) { return tanh(split_heads(t[0], 3, 2)[part]); },
           {random({2, 3, 12})});
  }
  expect([](const auto& t) { return tanh(merge_heads(t[0])); }, {random({2, 2, 3, 4})});
}

TEST_F(LayerGradient, Attention) {
  for (const bool causal : {false, true}) {
    expect([&](const auto& t) { return scaled_dot_product_attention(t[0], t[1], t[2], causal); },
           {random({2, 2, 4, 3}), random({2, 2, 4, 3}), random({2, 2, 4, 3})});
    expect([&](const auto& t) { return scaled_dot_product_attention(t[0], t[1], t[2], causal); },
           {random({1, 2, 2, 3}), random({1, 2, 5, 3}), random({1, 2, 5, 3})});
    expect([&](const auto& t) { return scaled_dot_product_attention(t[0], t[1], t[2], causal); },
           {random({1, 1, 5, 2}), random({1, 1, 3, 2}), random({1, 1, 3, 2})});
  }
}

// The gradients of all three parts meet again in one projection; a shared input adds them up.
TEST_F(LayerGradient, ATransformerBlock) {
  const auto block = [](const std::vector<Tensor>& t) {
    const Shape shape = t[0].shape();
    const Shape rows{shape[0] * shape[1], shape[2]};
    const Tensor normal = reshape(layer_norm(t[0], t[1], t[2], 1e-5), rows);
    const Tensor fused = linear(normal, t[3], t[4]);
    const auto parts = split_heads(reshape(fused, {shape[0], shape[1], 3 * shape[2]}), 3, 2);
    const Tensor seen =
        merge_heads(scaled_dot_product_attention(parts[0], parts[1], parts[2], true));
    const Tensor x = add(t[0], seen);
    return add(x, dropout(gelu(x), 0.25, {1, 0, 0, 0}));
  };
  expect(block, {random({2, 3, 4}), random({4}), random({4}), random({12, 4}), random({12})});
}

// conv, norm, relu, conv and the way around them, which the second convolution must not change.
TEST_F(LayerGradient, AResidualBlock) {
  const auto block = [&](const std::vector<Tensor>& t) {
    const Tensor mean = Tensor::full(device_, {2}, DType::kFloat64, 0, MemoryKind::kParameters);
    const Tensor spread = Tensor::full(device_, {2}, DType::kFloat64, 1, MemoryKind::kParameters);
    const Tensor inner =
        batch_norm(conv2d(t[0], t[1], {}, {1, 1}), t[2], t[3], mean, spread, true, 0.1, 1e-5);
    return avg_pool2d(add(t[0], conv2d(tanh(inner), t[4], {}, {1, 1})), {2, 2});
  };
  expect(block, {random({2, 2, 4, 4}), random({2, 2, 3, 3}), random({2}), random({2}),
                 random({2, 2, 3, 3})});
}

}  // namespace
}  // namespace ringside::test
