// Models by name, and what is said of names that are none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringside/nn.h"
#include "support/error_text.h"
#include "support/inline_device.h"

namespace ringside {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ModelZoo : public ::testing::Test {
 protected:
  std::shared_ptr<Module> model(const std::string& spec, const Shape& sample = {64},
                                std::int64_t classes = 10) {
    return make_model(spec, {device_, DType::kFloat32, generator_}, sample, classes);
  }
  std::string fault(const std::string& spec, const Shape& sample = {64}) {
    return test::error_text(ErrorKind::kInvalidArgument, [&] { model(spec, sample); });
  }
  Shape output(Module& module, const Shape& input) {
    return module.forward(Tensor::full(device_, input, DType::kFloat32, 0.5, MemoryKind::kInputs))
        .shape();
  }
  static std::int64_t parameters(const Module& module) {
    std::int64_t count = 0;
    for (const NamedTensor& entry : module.named_parameters()) count += entry.tensor.numel();
    return count;
  }

  test::InlineDevice device_;
  Generator generator_{0};
};

TEST_F(ModelZoo, Mlp) {
  const auto mlp = model("mlp:64,32,10");
  EXPECT_EQ(mlp->describe(), "Sequential(Linear(64, 32), ReLU(), Linear(32, 10))");
  EXPECT_EQ(mlp->named_parameters()[2].name, "2.weight");
  EXPECT_EQ(mlp->named_parameters()[2].tensor.name(), "2.weight");
  EXPECT_EQ(output(*mlp, {5, 64}), (Shape{5, 10}));
  EXPECT_EQ(model("mlp:64,10")->describe(), "Sequential(Linear(64, 10))");
  EXPECT_EQ(model("mlp:64,32,10:relu")->describe(), mlp->describe());
  EXPECT_EQ(model("mlp:64,8,10:tanh")->describe(),
            "Sequential(Linear(64, 8), Tanh(), Linear(8, 10))");
  EXPECT_EQ(model("mlp:64,8,10:bn")->describe(),
            "Sequential(Linear(64, 8), BatchNorm1d(8, momentum 0.1, epsilon 1e-05), ReLU(), "
            "Linear(8, 10))");
}

TEST_F(ModelZoo, AnMlpFlattensImages) {
  const auto mlp = model("mlp:784,32,10", {1, 28, 28});
  EXPECT_EQ(mlp->named_parameters()[0].name, "1.weight");
  EXPECT_EQ(output(*mlp, {3, 1, 28, 28}), (Shape{3, 10}));
}

TEST_F(ModelZoo, TwoHeadsAreAddedUnlessOneIsLeftOut) {
  const auto model_with_heads = model("mlp:64,8,10:heads");
  EXPECT_EQ(model_with_heads->describe(),
            "TwoHeads(Sequential(Linear(64, 8), ReLU()); Linear(8, 10), Linear(8, 10))");
  std::vector<std::string> names;
  for (const NamedTensor& entry : model_with_heads->named_parameters()) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("hidden.0.weight", "hidden.0.bias", "head.weight", "head.bias",
                                 "second.weight", "second.bias"));
  const auto logits = [&](Module& module) {
    return host_values(module.forward(
        Tensor::full(device_, Shape{1, 64}, DType::kFloat32, 0.5, MemoryKind::kInputs)));
  };
  const std::vector<double> both = logits(*model_with_heads);
  model_with_heads->use_second_head(false);
  const std::vector<double> first = logits(*model_with_heads);
  EXPECT_NE(first, both);
  EXPECT_EQ(logits(*model_with_heads->shallow_copy()), first);
  Tensor bias = model_with_heads->named_parameters()[5].tensor;
  fill_in_place(bias, 7);
  EXPECT_EQ(logits(*model_with_heads), first) << "the second head takes no part";
  model_with_heads->use_second_head(true);
  EXPECT_NE(logits(*model_with_heads), both);
}

TEST_F(ModelZoo, OtherModelsHaveNoSecondHead) {
  const auto mlp = model("mlp:64,10");
  EXPECT_EQ(test::error_text(ErrorKind::kInvalidArgument, [&] { mlp->use_second_head(false); }),
            "Sequential(Linear(64, 10)) has no second head");
}

TEST_F(ModelZoo, LeNet) {
  const auto lenet = model("lenet", {1, 28, 28});
  EXPECT_EQ(parameters(*lenet), 61706);  // 156 + 2416 + 48120 + 10164 + 850
  EXPECT_EQ(lenet->named_parameters()[0].name, "conv1.weight");
  EXPECT_EQ(lenet->named_parameters()[0].tensor.name(), "conv1.weight");
  EXPECT_EQ(output(*lenet, {2, 1, 28, 28}), (Shape{2, 10}));
  EXPECT_EQ(output(*lenet->shallow_copy(), {2, 1, 28, 28}), (Shape{2, 10}));
}

// An 8x8 digit, as a vector or as an image, is a 28x28 image with the digit in the middle.
TEST_F(ModelZoo, LeNetPadsSmallImages) {
  generator_ = Generator(7);
  const auto whole = model("lenet", {1, 28, 28});
  generator_ = Generator(7);
  const auto small = model("lenet", {64});
  std::vector<double> digit(64);
  for (std::size_t i = 0; i < digit.size(); ++i) digit[i] = static_cast<double>(i % 17) / 16;
  std::vector<double> canvas(28 * 28, 0);
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 8; ++x) canvas[(y + 10) * 28 + x + 10] = digit[y * 8 + x];
  }
  const auto result = [&](Module& module, const Shape& shape, const std::vector<double>& values) {
    return host_values(module.forward(
        Tensor::from_host(device_, shape, DType::kFloat32, values, MemoryKind::kInputs)));
  };
  const std::vector<double> expected = result(*whole, {1, 1, 28, 28}, canvas);
  const std::vector<double> found = result(*small, {1, 64}, digit);
  ASSERT_EQ(found.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
  EXPECT_EQ(output(*model("lenet", {1, 8, 8}), {2, 1, 8, 8}), (Shape{2, 10}));
}

TEST_F(ModelZoo, Cnn) {
  const auto cnn = model("cnn:32,64,128:tanh", {64});
  EXPECT_EQ(parameters(*cnn), 53002);  // 320 + 18496 + 32896 + 1290
  EXPECT_EQ(cnn->named_parameters()[0].name, "conv1.weight");
  EXPECT_EQ(cnn->named_parameters()[6].name, "fc2.weight");
  EXPECT_EQ(output(*cnn, {2, 64}), (Shape{2, 10}));
  EXPECT_EQ(output(*cnn->shallow_copy(), {2, 64}), (Shape{2, 10}));
  EXPECT_EQ(output(*model("cnn:4,16", {1, 28, 28}), {2, 1, 28, 28}), (Shape{2, 10}));
  EXPECT_THAT(fault("cnn:32"), HasSubstr("must have at least one convolution and a hidden layer"));
  EXPECT_THAT(fault("cnn:4,8:bn"), HasSubstr("variant 'bn': must be relu or tanh"));
  EXPECT_THAT(fault("cnn:4,4,4,8", {1, 28, 28}),
              HasSubstr("halves the side of a square one-channel image 3 times, but a sample is "
                        "1x28x28"));
  EXPECT_THAT(fault("cnn:16777216,16777216,8"), HasSubstr("parameters"));
}

TEST_F(ModelZoo, SizesMustFitTheData) {
  EXPECT_EQ(fault("mlp:65,32,10"),
            "model 'mlp:65,32,10': takes 65 inputs, but a sample has 64 values (64)");
  EXPECT_EQ(fault("mlp:64,10", {1, 28, 28}),
            "model 'mlp:64,10': takes 64 inputs, but a sample has 784 values (1x28x28)");
  EXPECT_EQ(fault("mlp:64,32,9"),
            "model 'mlp:64,32,9': gives 9 outputs, but the data has 10 classes");
  for (const Shape& shape : {Shape{3, 32, 32}, Shape{1, 7, 7}, Shape{1, 30, 30}, Shape{65}}) {
    EXPECT_THAT(fault("lenet", shape), HasSubstr("takes images of 1x28x28"));
    EXPECT_THAT(fault("lenet", shape), HasSubstr("but a sample is " + to_string(shape)));
  }
}

// The same layers, registered in another order: they draw their first values in the order in which
// they are built, which is forward's.
TEST_F(ModelZoo, LayersMayBeRegisteredBackwards) {
  const auto logits = [&](Module& module) {
    return host_values(
        module.forward(Tensor::full(device_, {3, 64}, DType::kFloat32, 0.5, MemoryKind::kInputs)));
  };
  const auto forwards = model("mlp:64,8,10");
  generator_ = Generator(0);
  const auto backwards = model("mlp:64,8,10:backwards");
  std::vector<std::string> names;
  for (const NamedTensor& entry : backwards->named_parameters()) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("2.weight", "2.bias", "0.weight", "0.bias"));
  EXPECT_EQ(logits(*backwards), logits(*forwards));
  EXPECT_EQ(logits(*backwards->shallow_copy()), logits(*forwards));
  EXPECT_EQ(backwards->describe(), "RegisteredBackwards(Linear(64, 8), ReLU(), Linear(8, 10))");
}

TEST_F(ModelZoo, AbsurdSizesAreNamed) {
  const std::string range = "must be a whole number from 1 to 16777216";
  EXPECT_EQ(fault("mlp:64,0,10"), "model 'mlp:64,0,10': layer size '0': " + range);
  EXPECT_EQ(fault("mlp:64,-3,10"), "model 'mlp:64,-3,10': layer size '-3': " + range);
  EXPECT_EQ(fault("mlp:64,1000000000000,10"),
            "model 'mlp:64,1000000000000,10': layer size '1000000000000': " + range);
  EXPECT_EQ(fault("mlp:64,1e3,10"), "model 'mlp:64,1e3,10': layer size '1e3': " + range);
  EXPECT_EQ(fault("mlp:64,,10"), "model 'mlp:64,,10': layer size '': " + range);
  EXPECT_EQ(fault("mlp:64,10,"), "model 'mlp:64,10,': layer size '': " + range);
  EXPECT_EQ(fault("mlp:"), "model 'mlp:': layer size '': " + range);
  EXPECT_EQ(fault("mlp:64"), "model 'mlp:64': must have at least an input and an output size");
  EXPECT_EQ(fault("mlp:64,16777216,16777216,10"),
            "model 'mlp:64,16777216,16777216,10': has more than 2147483648 parameters");
}

TEST_F(ModelZoo, UnknownNamesShowTheGrammar) {
  EXPECT_EQ(fault("mlp:64,10:gelu"),
            "model 'mlp:64,10:gelu': variant 'gelu': must be relu, tanh, bn, heads, backwards or "
            "counted");
  for (const char* spec : {"", "mlp", "resnet50", "LeNet", "lenet:5"}) {
    try {
      model(spec);
      ADD_FAILURE() << "no Error for " << spec;
    } catch (const Error& error) {
      EXPECT_THAT(
          error.what(),
          HasSubstr("must be mlp:SIZES, cnn:SIZES, lenet, resnet:CHANNELS or gpt:SETTINGS"));
      EXPECT_FALSE(error.hint().empty());
      EXPECT_LT(error.hint().size(), 100U) << error.hint();
    }
  }
}

// ---------------------------------------------------------------- resnet and gpt

TEST_F(ModelZoo, ResNet) {
  const auto resnet = model("resnet:4,8");
  // conv 36, bn 8; block 4: 2 * (144 + 8); block 8: 288 + 576 + 2 * 16, shortcut 32 + 16; linear 90
  EXPECT_EQ(parameters(*resnet), 44 + 304 + 944 + 90);
  EXPECT_EQ(resnet->named_parameters()[0].name, "1.weight");
  EXPECT_EQ(output(*resnet, {3, 64}), (Shape{3, 10}));
  EXPECT_EQ(output(*resnet->shallow_copy(), {3, 64}), (Shape{3, 10}));
  const auto colour = model("resnet:4", {3, 5, 5});
  EXPECT_EQ(colour->named_parameters()[0].name, "0.weight");
  EXPECT_EQ(output(*colour, {2, 3, 5, 5}), (Shape{2, 10}));
  EXPECT_EQ(fault("resnet:4", {3, 5, 6}),
            "model 'resnet:4': takes square images, but a sample is 3x5x6");
  EXPECT_EQ(fault("resnet:4,x"),
            "model 'resnet:4,x': channels 'x': must be a whole number from 1 to 16777216");
}

TEST_F(ModelZoo, Gpt) {
  const auto gpt = model("gpt:layers=1,heads=2,width=8,context=6", {5}, 11);
  // wte 88, wpe 48; ln 32, attention 4 * 64 + 32, perceptron 8 * 64 + 40; ln_f 16, lm_head 88
  EXPECT_EQ(parameters(*gpt), 136 + 32 + 288 + 552 + 104);
  const std::vector<NamedTensor> names = gpt->named_parameters();
  EXPECT_EQ(names[0].name, "wte.weight");
  EXPECT_EQ(names[2].name, "h.0.ln_1.weight");
  EXPECT_EQ(names[4].tensor.name(), "h.0.attn.c_attn.weight");
  EXPECT_EQ(names.back().name, "lm_head.weight");
  const Tensor tokens = Tensor::full(device_, {3, 5}, DType::kInt64, 10, MemoryKind::kInputs);
  EXPECT_EQ(gpt->forward(tokens).shape(), (Shape{3, 5, 11}));
  EXPECT_EQ(gpt->shallow_copy()->forward(tokens).shape(), (Shape{3, 5, 11}));
  EXPECT_EQ(token_context("gpt:context=6"), 6);
  EXPECT_EQ(token_context("gpt"), 64);
  EXPECT_EQ(token_context("lenet"), std::nullopt);
}

// A token's logits do not know the tokens behind it.
TEST_F(ModelZoo, AGptLooksBackOnly) {
  const auto gpt = model("gpt:layers=2,heads=2,width=8,context=4", {4}, 5);
  const auto logits = [&](const std::vector<double>& tokens) {
    return host_values(gpt->forward(
        Tensor::from_host(device_, {1, 4}, DType::kInt64, tokens, MemoryKind::kInputs)));
  };
  const std::vector<double> a = logits({1, 2, 3, 4});
  const std::vector<double> b = logits({1, 2, 0, 0});
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 10, b.begin()));
  EXPECT_NE(a[10], b[10]);
}

TEST_F(ModelZoo, AGptRefusesWhatItCannotBe) {
  EXPECT_EQ(fault("gpt:heads=3"), "model 'gpt:heads=3': width 64 is not divisible by 3 heads");
  EXPECT_EQ(fault("gpt:layers"),
            "model 'gpt:layers': layers '': must be a whole number from 1 to 16777216");
  EXPECT_EQ(fault("gpt:depth=3"),
            "model 'gpt:depth=3': setting 'depth=3': must be layers=N, heads=N, width=N, context=N "
            "or dropout=P");
  EXPECT_EQ(fault("gpt:dropout=1"),
            "model 'gpt:dropout=1': dropout '1': must be a number from 0 to below 1");
  EXPECT_EQ(fault("gpt:layers=1,heads=2,layers=2"),
            "model 'gpt:layers=1,heads=2,layers=2': layers is given more than once");
  EXPECT_EQ(fault("gpt:context=32"),
            "model 'gpt:context=32': takes up to 32 tokens, but a sample is 64");
  EXPECT_EQ(fault("gpt:layers=1025"), "model 'gpt:layers=1025': layers 1025: at most 1024");
  EXPECT_EQ(fault("gpt:layers=1000,width=100000"),
            "model 'gpt:layers=1000,width=100000': has more than 2147483648 parameters");
}

}  // namespace
}  // namespace ringside
