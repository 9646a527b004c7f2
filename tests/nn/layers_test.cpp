// What layers compute from their own tensors; the operators' arithmetic is tests/tensor's matter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "ringside/nn.h"
#include "support/error_text.h"
#include "support/inline_device.h"

namespace ringside {
namespace {

using ::testing::ElementsAre;

class Layers : public ::testing::Test {
 protected:
  Tensor tensor(const Shape& shape, const std::vector<double>& values) {
    return Tensor::from_host(device_, shape, DType::kFloat32, values, MemoryKind::kInputs);
  }
  test::InlineDevice device_;
  Generator generator_{0};
  ModuleContext context_{device_, DType::kFloat32, generator_};
};

TEST_F(Layers, DescribeThemselves) {
  EXPECT_EQ(make_linear(context_, 4, 3)->describe(), "Linear(4, 3)");
  EXPECT_EQ(make_linear(context_, 4, 3, false)->describe(), "Linear(4, 3, without bias)");
  EXPECT_EQ(make_conv2d(context_, 1, 6, 5, {1, 2})->describe(),
            "Conv2d(1, 6, kernel 5, stride 1, padding 2)");
  EXPECT_EQ(make_max_pool2d()->describe(), "MaxPool2d(kernel 2, stride 2)");
  EXPECT_EQ(make_batch_norm1d(context_, 3)->describe(),
            "BatchNorm1d(3, momentum 0.1, epsilon 1e-05)");
  EXPECT_EQ(make_batch_norm2d(context_, 3)->describe(),
            "BatchNorm2d(3, momentum 0.1, epsilon 1e-05)");
  EXPECT_EQ(make_layer_norm(context_, 3)->describe(), "LayerNorm(3, epsilon 1e-05)");
  EXPECT_EQ(make_dropout(0.25)->describe(), "Dropout(0.25)");
  EXPECT_EQ(make_embedding(context_, 7, 2)->describe(), "Embedding(7, 2)");
  EXPECT_EQ(make_positions(context_, 7, 2)->describe(), "Positions(7, 2)");
  EXPECT_EQ(make_self_attention(context_, 4, 2)->describe(), "SelfAttention(4, 2 heads, causal)");
  EXPECT_EQ(make_avg_pool2d({3, 1})->describe(), "AvgPool2d(kernel 3, stride 1)");
  EXPECT_EQ(make_residual(make_gelu(), make_tanh())->describe(),
            "Residual(GELU(), shortcut Tanh())");
  EXPECT_EQ(make_sequential({make_flatten(), make_relu(), make_tanh()})->describe(),
            "Sequential(Flatten(), ReLU(), Tanh())");
}

TEST_F(Layers, LinearHasABiasOrNot) {
  const Tensor x = tensor({1, 2}, {10, 1});
  const auto with = make_linear(context_, 2, 1);
  with->replace_tensors({tensor({1, 2}, {2, 3}), tensor({1}, {100})}, {});
  EXPECT_THAT(host_values(with->forward(x)), ElementsAre(123));
  const auto without = make_linear(context_, 2, 1, false);
  without->replace_tensors({tensor({1, 2}, {2, 3})}, {});
  EXPECT_THAT(host_values(without->forward(x)), ElementsAre(23));
}

TEST_F(Layers, ConvolutionPoolingAndFlattening) {
  const auto model =
      make_sequential({make_conv2d(context_, 1, 2, 3, {1, 1}), make_max_pool2d(), make_flatten()});
  EXPECT_EQ(model->forward(tensor({1, 1, 4, 6}, std::vector<double>(24, 1))).shape(),
            (Shape{1, 2 * 2 * 3}));
}

TEST_F(Layers, BatchNormMovesItsStatisticsInTrainingOnly) {
  const auto layer = make_batch_norm1d(context_, 2);
  const Tensor x = tensor({4, 2}, {1, 10, 2, 20, 3, 30, 4, 40});
  layer->forward(x);
  layer->forward(x);
  const auto buffer = [&](std::size_t i) { return host_values(layer->named_buffers()[i].tensor); };
  EXPECT_THAT(buffer(2), ElementsAre(2)) << "batches";
  EXPECT_EQ(layer->named_buffers()[2].tensor.dtype(), DType::kInt64);
  // r <- 0.9 r + 0.1 m, twice; the variance is the unbiased one.
  EXPECT_NEAR(buffer(0)[0], 2.5 * 0.19, 1e-6);
  EXPECT_NEAR(buffer(0)[1], 25 * 0.19, 1e-5);
  EXPECT_NEAR(buffer(1)[0], 0.81 + 5.0 / 3 * 0.19, 1e-6);

  layer->train(false);
  const std::vector<double> y = host_values(layer->forward(x));
  EXPECT_THAT(buffer(2), ElementsAre(2));
  EXPECT_NEAR(y[0], (1 - buffer(0)[0]) / std::sqrt(buffer(1)[0] + 1e-5), 1e-6);
}

TEST_F(Layers, BatchNormCountsOnTheDeviceInOneOp) {
  const auto model = make_sequential({make_batch_norm1d(context_, 2)});
  device_.clear_ops();
  model->forward(tensor({2, 2}, {1, 2, 3, 4}));
  EXPECT_THAT(device_.ops(), ElementsAre("copy-host-to-device", "batch-norm", "count-batch"));
}

TEST_F(Layers, RefuseSizesBelowOne) {
  const auto text = [](const auto& call) {
    return test::error_text(ErrorKind::kInvalidArgument, call);
  };
  EXPECT_EQ(text([&] { make_linear(context_, 0, 3); }), "Linear: inputs 0: must be at least 1");
  EXPECT_EQ(text([&] { make_linear(context_, 3, -1); }), "Linear: outputs -1: must be at least 1");
  EXPECT_EQ(text([&] { make_conv2d(context_, 1, 1, 0); }), "Conv2d: kernel 0: must be at least 1");
  EXPECT_EQ(text([&] { make_max_pool2d({2, 0}); }), "MaxPool2d: stride 0: must be at least 1");
  EXPECT_EQ(text([&] { make_batch_norm1d(context_, 0); }),
            "BatchNorm1d: channels 0: must be at least 1");
}

TEST_F(Layers, BatchNormTakesItsOwnRanksOnly) {
  const auto text = [&](const std::shared_ptr<Module>& layer, const Shape& shape) {
    return test::error_text(ErrorKind::kInvalidArgument, [&] {
      layer->forward(Tensor::full(device_, shape, DType::kFloat32, 1, MemoryKind::kInputs));
    });
  };
  EXPECT_EQ(text(make_batch_norm1d(context_, 2), {2, 2, 2, 2}),
            "BatchNorm1d: input 2x2x2x2 must be [batch, channels] or one dimension more");
  EXPECT_EQ(text(make_batch_norm2d(context_, 2), {2, 2}),
            "BatchNorm2d: input 2x2 must be [batch, channels, height, width]");
}

TEST_F(Layers, BatchNorm2dNormalisesEachChannel) {
  const auto layer = make_batch_norm2d(context_, 2);
  const Tensor x = tensor({1, 2, 1, 2}, {1, 3, 10, 30});
  const std::vector<double> y = host_values(layer->forward(x));
  EXPECT_NEAR(y[0], -1, 1e-5);
  EXPECT_NEAR(y[3], 1, 1e-5);
  EXPECT_NEAR(host_values(layer->named_buffers()[1].tensor)[0], 0.9 + 0.1 * 2, 1e-6);
}

// In training a device's masks follow each other; a copy on the same device takes part in the row.
TEST_F(Layers, DropoutDropsInTrainingOnly) {
  const auto layer = make_dropout(0.5);
  const Tensor x = tensor({64}, std::vector<double>(64, 1));
  const auto y = [&] { return host_values(layer->forward(x)); };
  device_.set_random_seed(3);
  const std::vector<double> first = y();
  EXPECT_NE(first, y());
  device_.set_random_seed(3);
  EXPECT_EQ(first, host_values(layer->shallow_copy()->forward(x)));
  device_.set_random_seed(4);
  EXPECT_NE(first, y());
  layer->train(false);
  EXPECT_EQ(y(), std::vector<double>(64, 1));
  EXPECT_EQ(test::error_text(ErrorKind::kInvalidArgument, [] { make_dropout(-0.5); }),
            "Dropout: probability -0.5: must be from 0 to 1");
}

TEST_F(Layers, LinearTakesSequences) {
  const auto layer = make_linear(context_, 2, 3);
  const Tensor x = tensor({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor y = layer->forward(x);
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(host_values(y), host_values(layer->forward(reshape(x, {4, 2}))));
}

TEST_F(Layers, AResidualAddsTheWayAround) {
  const Tensor x = tensor({1, 2}, {-1, 2});
  EXPECT_THAT(host_values(make_residual(make_relu())->forward(x)), ElementsAre(-1, 4));
  EXPECT_THAT(host_values(make_residual(make_relu(), make_relu())->forward(x)), ElementsAre(0, 4));
}

// torch.manual_seed(0); nn.Embedding(2, 3) draws what torch.randn(2, 3) does.
TEST_F(Layers, AnEmbeddingIsDrawnFromTheNormalDistribution) {
  const auto layer = make_embedding(context_, 2, 3);
  EXPECT_EQ(host_values(layer->named_parameters()[0].tensor),
            Generator(0).randn(6, DType::kFloat32));
}

TEST_F(Layers, AStateGoesThereAndBack) {
  const auto make = [&] {
    return make_sequential({make_embedding(context_, 5, 4), make_positions(context_, 3, 4),
                            make_self_attention(context_, 4, 2), make_layer_norm(context_, 4)});
  };
  const auto one = make();
  const auto other = make();
  const Tensor tokens = Tensor::from_host(device_, {1, 3}, DType::kInt64,
                                          std::vector<double>{4, 0, 4}, MemoryKind::kInputs);
  EXPECT_NE(host_values(one->forward(tokens)), host_values(other->forward(tokens)));
  other->load_state_dict(one->state_dict());
  EXPECT_EQ(host_values(one->forward(tokens)), host_values(other->forward(tokens)));
}

}  // namespace
}  // namespace ringside
