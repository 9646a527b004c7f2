// Built-in models have the published numbers of parameters and tensors.
#include "calculators/known_models.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/error_text.h"

namespace ringside {
namespace {

TEST(KnownModels, HaveThePublishedTotals) {
  struct Total {
    std::string name;
    std::size_t tensors, parameters;
  };
  const Total totals[] = {{"resnet18", 62, 11'689'512},     {"resnet50", 161, 25'557'032},
                          {"vgg16", 32, 138'357'544},       {"bert-base", 199, 109'482'240},
                          {"gpt2-small", 148, 124'439'808}, {"gpt2-xl", 580, 1'557'611'200},
                          {"mlp:64,32,10", 4, 2410}};
  for (const auto& [name, tensors, parameters] : totals) {
    EXPECT_EQ(known_model(name).size(), tensors) << name;
    EXPECT_EQ(elements_of(known_model(name)), parameters) << name;
  }
  EXPECT_EQ(std::size(totals), known_models().size() + 1);
}

TEST(KnownModels, NameTheirParametersAsTorchvisionDoes) {
  EXPECT_EQ(known_model("vgg16")[4].name, "features.5.weight");
  EXPECT_EQ(known_model("resnet18")[21].name, "layer2.0.downsample.0.weight");
}

// With the names and in the order of the model that a run trains.
TEST(KnownModels, AreAlsoThoseThatRunsTrain) {
  const std::vector<NamedShape> heads = known_model("mlp:64,32,10:heads");
  ASSERT_EQ(heads.size(), 6U);
  EXPECT_EQ(heads[0].name, "hidden.0.weight");
  EXPECT_EQ(heads[4].name, "second.weight");
  EXPECT_EQ(heads[4].shape, (std::vector<std::int64_t>{10, 32}));
  EXPECT_EQ(known_model("mlp:64,32,10:tanh").size(), known_model("mlp:64,32,10").size());
  const std::vector<NamedShape> lenet = known_model("lenet");
  EXPECT_EQ(lenet.size(), 10U);
  EXPECT_EQ(lenet.back().name, "fc3.bias");
  EXPECT_EQ(elements_of(lenet), 61'706U);
  EXPECT_EQ(known_model("cnn:4,8,16").front().shape, (std::vector<std::int64_t>{4, 1, 3, 3}));
  for (const char* name :
       {"lenet", "cnn:4,8,16", "resnet:4,8", "mlp:8,4:bn", "gpt", "gpt:layers=2"}) {
    EXPECT_TRUE(is_model_name(name)) << name;
  }
  EXPECT_FALSE(is_model_name("gpt.safetensors"));
}

TEST(KnownModels, SayWhatIsWrongWithTheOthers) {
  const auto text = [](const std::string& name) {
    return test::error_text(ErrorKind::kInvalidArgument, [&] { known_model(name); });
  };
  EXPECT_EQ(text("gpt:layers=2"),
            "model 'gpt:layers=2': how many tokens it embeds depends on the text");
  EXPECT_NE(text("mlp:64,10:heds").find("variant 'heds'"), std::string::npos);
  EXPECT_NE(text("cnn:4,x").find("'x'"), std::string::npos);
}

}  // namespace
}  // namespace ringside
