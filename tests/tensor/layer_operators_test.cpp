// What the operators of normalisation, regularisation and attention give, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "support/error_text.h"
#include "support/inline_device.h"
#include "tensor/philox.h"
#include "tensor/random_values.h"

namespace ringside::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LayerOperators : public ::testing::Test {
 protected:
  Tensor tensor(const Shape& shape, const std::vector<double>& values,
                DType dtype = DType::kFloat32) {
    return Tensor::from_host(device_, shape, dtype, values, MemoryKind::kInputs);
  }
  Tensor random(const Shape& shape, DType dtype = DType::kFloat32) {
    return tensor(shape, random_values(shape.numel(), ++seed_), dtype);
  }
  InlineDevice device_;
  std::uint32_t seed_ = 0;
};

// The known answers that come with Random123 (kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST_F(LayerOperators, GeluIsTheOneOfTheErrorFunction) {
  // x Φ(x) from tables of the normal distribution; the tanh approximation gives 0.841192 at 1.
  const std::vector<double> y = host_values(gelu(tensor({4}, {1, -1, 0, 3}, DType::kFloat64)));
  EXPECT_NEAR(y[0], 0.8413447460685429, 1e-15);
  EXPECT_NEAR(y[1], -0.15865525393145707, 1e-15);
  EXPECT_EQ(y[2], 0);
  EXPECT_NEAR(y[3], 3 * 0.9986501019683699, 1e-14);
}

TEST_F(LayerOperators, DropoutKeepsTheShareAndTheMean) {
  const Tensor ones = Tensor::full(device_, {100000}, DType::kFloat32, 1, MemoryKind::kInputs);
  const std::vector<double> y = host_values(dropout(ones, 0.2, {3, 0, 0, 0}));
  EXPECT_EQ(std::set<double>(y.begin(), y.end()), (std::set<double>{0, 1.25}));
  double sum = 0;
  for (const double value : y) sum += value;
  EXPECT_NEAR(sum / 1e5, 1, 0.01);  // 6 standard deviations of the mean are 0.0095
}

// The mask belongs to the key alone, and each part of the key makes another one.
TEST_F(LayerOperators, DropoutIsAFunctionOfItsKey) {
  const Tensor ones = Tensor::full(device_, {1001}, DType::kFloat64, 1, MemoryKind::kInputs);
  const auto mask = [&](const RandomKey& key) { return host_values(dropout(ones, 0.5, key)); };
  std::set<std::vector<double>> masks;
  for (const RandomKey& key :
       {RandomKey{1, 0, 0, 0}, RandomKey{1ULL << 32, 0, 0, 0}, RandomKey{0, 1, 0, 0},
        RandomKey{0, 0, 1, 0}, RandomKey{0, 0, 0, 1}}) {
    EXPECT_EQ(mask(key), mask(key));
    masks.insert(mask(key));
  }
  EXPECT_EQ(masks.size(), 5U);
}

TEST_F(LayerOperators, ADeviceCountsItsDrawsWithinAStep) {
  device_.set_random_seed(9);
  EXPECT_EQ(device_.next_random_key().draw, 0U);
  EXPECT_EQ(device_.next_random_key().draw, 1U);
  device_.context().step = 4;
  const RandomKey key = device_.next_random_key();
  EXPECT_EQ(key.seed, 9U);
  EXPECT_EQ(key.step, 5U);
  EXPECT_EQ(key.draw, 0U);
  EXPECT_EQ(device_.next_random_key().draw, 1U);
}

TEST_F(LayerOperators, AvgPoolTakesTheMean) {
  const Tensor x = tensor({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(host_values(avg_pool2d(x, {2, 2})), ElementsAre(3.5, 5.5));
  EXPECT_THAT(host_values(avg_pool2d(x, {2, 1})), ElementsAre(3.5, 4.5, 5.5));
}

TEST_F(LayerOperators, LayerNormGivesMeanZeroAndVarianceOne) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Tensor one = tensor({19}, std::vector<double>(19, 1), dtype);
    const Tensor zero = tensor({19}, std::vector<double>(19, 0), dtype);
    const std::vector<double> y = host_values(layer_norm(random({3, 19}, dtype), one, zero, 0));
    for (std::size_t row = 0; row < 3; ++row) {
      double sum = 0;
      double squares = 0;
      for (std::size_t j = 0; j < 19; ++j) {
        sum += y[row * 19 + j];
        squares += y[row * 19 + j] * y[row * 19 + j];
      }
      EXPECT_NEAR(sum, 0, 1e-5);
      EXPECT_NEAR(squares, 19, 1e-4);
    }
  }
}

TEST_F(LayerOperators, EmbeddingTakesRows) {
  const Tensor table = tensor({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor tokens = tensor({1, 2}, {2, 0}, DType::kInt64);
  const Tensor y = embedding(tokens, table);
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2}));
  EXPECT_THAT(host_values(y), ElementsAre(5, 6, 1, 2));
  EXPECT_EQ(error_text(ErrorKind::kInvalidInput,
                       [&] {
                         embedding(tensor({2}, {0, 3}, DType::kInt64), table);
                         device_.synchronize();
                       }),
            "embedding: index 3 at place 1 is outside [0, 3)");
  EXPECT_EQ(error_text(ErrorKind::kInvalidArgument, [&] { embedding(table, table); }),
            "embedding: indices are float32, but must be int64");
}

/// softmax(q kᵀ / sqrt(depth)) v as it is written down, for one head.
std::vector<double> attention_by_definition(const std::vector<double>& q,
                                            const std::vector<double>& k,
                                            const std::vector<double>& v, std::size_t queries,
                                            std::size_t keys, std::size_t depth, bool causal) {
  std::vector<double> y(queries * depth, 0);
  for (std::size_t t = 0; t < queries; ++t) {
    std::vector<double> weight(keys, 0);
    double sum = 0;
    for (std::size_t s = 0; s < (causal ? std::min(t + 1, keys) : keys); ++s) {
      double dot = 0;
      for (std::size_t d = 0; d < depth; ++d) dot += q[t * depth + d] * k[s * depth + d];
      weight[s] = std::exp(dot / std::sqrt(static_cast<double>(depth)));
      sum += weight[s];
    }
    for (std::size_t s = 0; s < keys; ++s) {
      for (std::size_t d = 0; d < depth; ++d)
        y[t * depth + d] += weight[s] / sum * v[s * depth + d];
    }
  }
  return y;
}

TEST_F(LayerOperators, AttentionIsItsDefinition) {
  for (const bool causal : {false, true}) {
    for (const auto& [queries, keys] : {std::pair{5, 5}, {3, 6}, {6, 2}}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        const Tensor q = random({1, 1, queries, 4}, dtype);
        const Tensor k = random({1, 1, keys, 4}, dtype);
        const Tensor v = random({1, 1, keys, 4}, dtype);
        const std::vector<double> found =
            host_values(scaled_dot_product_attention(q, k, v, causal));
        const std::vector<double> expected = attention_by_definition(
            host_values(q), host_values(k), host_values(v), static_cast<std::size_t>(queries),
            static_cast<std::size_t>(keys), 4, causal);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_NEAR(found[i], expected[i], dtype == DType::kFloat32 ? 1e-6 : 1e-14);
        }
      }
    }
  }
}

TEST_F(LayerOperators, HeadsAreCutFromTheLastDimension) {
  // Two positions; query, key and value of two heads of one value each.
  const Tensor x = tensor({1, 2, 6}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  const std::vector<Tensor> parts = split_heads(x, 3, 2);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].shape(), (Shape{1, 2, 2, 1}));
  EXPECT_THAT(host_values(parts[0]), ElementsAre(0, 10, 1, 11));
  EXPECT_THAT(host_values(parts[2]), ElementsAre(4, 14, 5, 15));
  EXPECT_THAT(host_values(merge_heads(parts[1])), ElementsAre(2, 3, 12, 13));
  EXPECT_EQ(error_text(ErrorKind::kInvalidArgument, [&] { split_heads(x, 3, 4); }),
            "split_heads: width 6 of input 1x2x6 is not divisible by 3 parts of 4 heads");
}

TEST_F(LayerOperators, RefuseWhatDoesNotFit) {
  const Tensor x = random({2, 3, 4});
  const auto text = [](const auto& call) { return error_text(ErrorKind::kInvalidArgument, call); };
  EXPECT_EQ(text([&] { dropout(x, 1.5, {}); }), "dropout: probability 1.5 must be from 0 to 1");
  EXPECT_THAT(text([&] { layer_norm(x, random({3}), random({3}), 1e-5); }),
              HasSubstr("both must have the size of its last dimension"));
  EXPECT_EQ(text([&] {
              add_positions(x, random({2, 4}));
            }),
            "add_positions: input 2x3x4 does not fit weight 2x4: at most 2 positions of width 4");
  EXPECT_THAT(text([&] {
                scaled_dot_product_attention(random({1, 1, 2, 3}), random({1, 1, 2, 4}),
                                             random({1, 1, 2, 4}), false);
              }),
              HasSubstr("may differ in the number of positions only"));
  EXPECT_THAT(text([&] {
                avg_pool2d(random({1, 1, 2, 2}), {3, 1});
              }),
              HasSubstr("avg_pool2d: kernel 3x3 does not fit into input 1x1x2x2"));
}

TEST_F(LayerOperators, AreOneOpEach) {
  const Tensor x = random({2, 3, 6});
  const Tensor width = random({6});
  device_.clear_ops();
  gelu(x);
  dropout(x, 0.5, {});
  layer_norm(x, width, width, 1e-5);
  const auto parts = split_heads(x, 3, 1);
  merge_heads(scaled_dot_product_attention(parts[0], parts[1], parts[2], true));
  EXPECT_THAT(device_.ops(), ElementsAre("gelu", "dropout", "layer-norm", "split-heads",
                                         "attention", "merge-heads"));
}

}  // namespace
}  // namespace ringside::test
