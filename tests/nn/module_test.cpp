// Names, states, copies and replacements of a tree of modules.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "ringside/nn.h"
#include "support/error_text.h"
#include "support/inline_device.h"

namespace ringside {
namespace {

using ::testing::ElementsAre;

class ModuleTest : public ::testing::Test {
 protected:
  std::shared_ptr<Module> linear(std::int64_t in, std::int64_t out, bool bias = true) {
    return make_linear(context_, in, out, bias);
  }
  Tensor values(const Shape& shape, double value, DType dtype = DType::kFloat32) {
    return Tensor::full(device_, shape, dtype, value, MemoryKind::kParameters);
  }
  static std::vector<std::string> names(const std::vector<NamedTensor>& list) {
    std::vector<std::string> result;
    for (const NamedTensor& entry : list) result.push_back(entry.name);
    return result;
  }

  test::InlineDevice device_;
  Generator generator_{0};
  ModuleContext context_{device_, DType::kFloat32, generator_};
};

TEST_F(ModuleTest, NamesGoDepthFirst) {
  const auto inner = make_sequential({linear(4, 3), make_batch_norm1d(context_, 3)});
  const auto model = make_sequential({linear(2, 4), make_relu(), inner, linear(3, 1, false)});
  EXPECT_THAT(names(model->named_parameters()),
              ElementsAre("0.weight", "0.bias", "2.0.weight", "2.0.bias", "2.1.weight", "2.1.bias",
                          "3.weight"));
  EXPECT_THAT(names(model->named_buffers("module.")),
              ElementsAre("module.2.1.running_mean", "module.2.1.running_var",
                          "module.2.1.num_batches_tracked"));
  EXPECT_THAT(
      names(model->state_dict()),
      ElementsAre("0.weight", "0.bias", "2.0.weight", "2.0.bias", "2.1.weight", "2.1.bias",
                  "2.1.running_mean", "2.1.running_var", "2.1.num_batches_tracked", "3.weight"));
}

TEST_F(ModuleTest, TensorsCarryTheirFullNames) {
  std::shared_ptr<Module> model = make_sequential({make_relu(), make_batch_norm1d(context_, 3)});
  constexpr int kDepth = 1000;
  std::string prefix = "1.";
  for (int i = 0; i < kDepth; ++i) {
    model = make_sequential({model});
    prefix.insert(0, "0.");
  }
  for (const NamedTensor& entry : model->state_dict()) {
    EXPECT_EQ(entry.tensor.name(), entry.name);
    EXPECT_TRUE(entry.name.starts_with(prefix));
  }
  EXPECT_EQ(model->state_dict().size(), 5U);
}

TEST_F(ModuleTest, ParametersRequireGradientsBuffersDoNot) {
  const auto model = make_sequential({make_batch_norm1d(context_, 3)});
  for (const NamedTensor& entry : model->named_parameters()) {
    EXPECT_TRUE(entry.tensor.requires_grad());
  }
  for (const NamedTensor& entry : model->named_buffers()) {
    EXPECT_FALSE(entry.tensor.requires_grad());
  }
}

TEST_F(ModuleTest, TrainReachesAllChildren) {
  const auto inner = make_sequential({make_relu()});
  const auto model = make_sequential({inner});
  EXPECT_TRUE(inner->training());
  model->train(false);
  EXPECT_FALSE(inner->training());
  EXPECT_FALSE(model->shallow_copy()->training());
  model->train();
  EXPECT_TRUE(inner->training());
}

TEST_F(ModuleTest, LoadsAState) {
  const auto source = make_sequential({linear(2, 3), make_batch_norm1d(context_, 3)});
  const auto target = make_sequential({linear(2, 3), make_batch_norm1d(context_, 3)});
  const std::vector<NamedTensor> state = source->state_dict("module.");
  ASSERT_NE(host_values(source->state_dict()[0].tensor),
            host_values(target->state_dict()[0].tensor));
  target->load_state_dict(state, "module.");
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Tensor loaded = target->state_dict()[i].tensor;
    EXPECT_EQ(host_values(loaded), host_values(state[i].tensor)) << state[i].name;
    EXPECT_FALSE(loaded.same(state[i].tensor)) << "values are copied, not shared";
  }
}

TEST_F(ModuleTest, LoadsAStateOfAnotherTypeFromAnotherDevice) {
  test::InlineDevice other(true, "inline:1");
  const auto model = make_sequential({linear(1, 2)});
  const std::vector<double> weight = {0.1, 0.2};
  model->load_state_dict({{"0.weight", Tensor::from_host(other, {2, 1}, DType::kFloat64, weight,
                                                         MemoryKind::kParameters)},
                          {"0.bias", values({2}, 3)}});
  EXPECT_THAT(host_values(model->state_dict()[0].tensor), ElementsAre(0.1F, 0.2F));
  EXPECT_THAT(host_values(model->state_dict()[1].tensor), ElementsAre(3, 3));
}

TEST_F(ModuleTest, AStateThatDoesNotFitNamesEverythingAndChangesNothing) {
  const auto model = make_sequential({linear(2, 3), linear(3, 1)});
  const std::vector<double> before = host_values(model->state_dict()[0].tensor);
  const std::vector<NamedTensor> state = {{"0.weight", values({3, 2}, 1)},
                                          {"1.weight", values({3, 1}, 1)},
                                          {"1.bias", Tensor()},
                                          {"module.0.bias", values({3}, 1)}};
  EXPECT_EQ(test::error_text(ErrorKind::kInvalidInput, [&] { model->load_state_dict(state); }),
            "load_state_dict: Missing key(s) in state_dict: 0.bias, 1.bias; Unexpected key(s) in "
            "state_dict: module.0.bias; size mismatch for 1.weight: 1x3 expected, 3x1 given");
  EXPECT_EQ(host_values(model->state_dict()[0].tensor), before);
}

TEST_F(ModuleTest, ShallowCopiesShareUntilReplaced) {
  const auto model = make_sequential({linear(2, 2), make_batch_norm1d(context_, 2)});
  const auto replica = model->shallow_copy();
  EXPECT_EQ(replica->describe(), model->describe());
  for (std::size_t i = 0; i < model->state_dict().size(); ++i) {
    EXPECT_TRUE(replica->state_dict()[i].tensor.same(model->state_dict()[i].tensor));
  }
  const Tensor before = model->state_dict()[0].tensor;
  replica->replace_tensors({values({2, 2}, 5), values({2}, 6), values({2}, 7), values({2}, 8)},
                           {values({2}, 0), values({2}, 1), values({}, 9, DType::kInt64)});
  EXPECT_EQ(host_value(replica->named_buffers()[2].tensor, 0), 9);
  EXPECT_THAT(host_values(replica->named_parameters()[3].tensor), ElementsAre(8, 8));
  EXPECT_TRUE(model->state_dict()[0].tensor.same(before)) << "the original keeps its own";
  const Tensor x = values({3, 2}, 1);
  EXPECT_NE(host_values(replica->forward(x)), host_values(model->forward(x)));
}

TEST_F(ModuleTest, ReplacementsAreCounted) {
  const auto model = make_sequential({linear(2, 2)});
  EXPECT_EQ(test::error_text(ErrorKind::kInvalidArgument,
                             [&] {
                               model->replace_tensors({values({2, 2}, 1)}, {});
                             }),
            "replace_tensors: 1 parameters for a module with 2");
  EXPECT_EQ(test::error_text(
                ErrorKind::kInvalidArgument,
                [&] {
                  model->replace_tensors({values({2, 2}, 1), values({2}, 1)}, {values({2}, 1)});
                }),
            "replace_tensors: 1 buffers for a module with 0");
}

TEST_F(ModuleTest, SharedLayersAreListedOnceAndReplacedEverywhere) {
  const auto shared = linear(2, 2);
  const auto model = make_sequential({shared, make_relu(), shared});
  EXPECT_THAT(names(model->named_parameters()), ElementsAre("0.weight", "0.bias"));
  EXPECT_THAT(names(model->state_dict()), ElementsAre("0.weight", "0.bias", "2.weight", "2.bias"));
  const auto replica = model->shallow_copy();
  replica->replace_tensors({values({2, 2}, 1), values({2}, 0)}, {});
  EXPECT_THAT(host_values(replica->forward(values({1, 2}, 1))), ElementsAre(4, 4));
  replica->replace_tensor("2.weight", values({2, 2}, 2));
  EXPECT_THAT(host_values(replica->forward(values({1, 2}, 1))), ElementsAre(16, 16));
}

TEST_F(ModuleTest, ReplacesOneTensorByName) {
  const auto model = make_sequential({linear(2, 2), make_batch_norm1d(context_, 2)});
  model->replace_tensor("1.running_mean", values({2}, 4));
  EXPECT_THAT(host_values(model->named_buffers()[0].tensor), ElementsAre(4, 4));
  EXPECT_EQ(model->named_buffers()[0].tensor.name(), "1.running_mean");
  try {
    model->replace_tensor("0.wieght", values({2, 2}, 1));
    ADD_FAILURE() << "no Error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no parameter or buffer is called '0.wieght'");
    EXPECT_EQ(error.hint(), "did you mean '0.weight'?");
  }
}

}  // namespace
}  // namespace ringside
