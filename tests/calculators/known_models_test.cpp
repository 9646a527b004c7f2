// Built-in models have the published numbers of parameters and tensors.
#include "calculators/known_models.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace ringside
