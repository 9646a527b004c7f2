// Layers start with PyTorch's values, bit for bit.

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "ringside/nn.h"
#include "support/inline_device.h"
#include "support/oracle_file.h"

namespace ringside {
namespace {

// "linear,4,3" or "linear,4,3,0" (no bias), "conv2d,1,8,3", "relu", "batchnorm1d,4".
std::shared_ptr<Module> layer(const std::string& text, const ModuleContext& context) {
  std::istringstream parts(text);
  std::string kind;
  std::getline(parts, kind, ',');
  std::vector<std::int64_t> numbers;
  for (std::string part; std::getline(parts, part, ',');) numbers.push_back(std::stoll(part));
  if (kind == "linear") {
    return make_linear(context, numbers[0], numbers[1], numbers.size() < 3 || numbers[2] != 0);
  }
  if (kind == "conv2d") return make_conv2d(context, numbers[0], numbers[1], numbers[2]);
  if (kind == "batchnorm1d") return make_batch_norm1d(context, numbers[0]);
  EXPECT_EQ(kind, "relu");
  return make_relu();
}

class Initialisation : public ::testing::TestWithParam<DType> {};

TEST_P(Initialisation, IsPyTorchs) {
  test::InlineDevice device;
  Generator generator(0);
  std::vector<NamedTensor> parameters;
  std::size_t next = 0;
  int models = 0;
  for (const test::OracleLine& line : test::oracle_lines("init.txt")) {
    if (line[0] == "model") {
      generator = Generator(std::stoull(line[1]));
      const ModuleContext context{device, GetParam(), generator};
      std::vector<std::shared_ptr<Module>> layers;
      for (std::size_t i = 2; i < line.size(); ++i) layers.push_back(layer(line[i], context));
      parameters = make_sequential(layers)->named_parameters();
      next = 0;
      ++models;
    } else if (line[0] == "parameter") {
      ASSERT_LT(next, parameters.size());
      const NamedTensor& parameter = parameters[next++];
      EXPECT_EQ(parameter.name, line[1]);
      EXPECT_EQ(parameter.tensor.dtype(), GetParam());
      EXPECT_EQ(test::compare_with_oracle(host_values(parameter.tensor), line, 2, true), "")
          << "model " << models << ", " << line[1];
    } else if (line[0] == "next") {
      EXPECT_EQ(next, parameters.size());
      for (double expected : test::oracle_numbers(line, 1, true)) {
        EXPECT_EQ(generator.uniform(0, 1, DType::kFloat32), expected) << "draws used";
      }
    }
  }
  EXPECT_EQ(models, 7);
}

INSTANTIATE_TEST_SUITE_P(, Initialisation, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& dtype) { return std::string(to_string(dtype.param)); });

TEST(InitialisationOnMeta, DrawsNothing) {
  test::InlineDevice meta(/*executes=*/false);
  Generator generator(0);
  const auto linear = make_linear({meta, DType::kFloat32, generator}, 64, 32);
  EXPECT_EQ(linear->named_parameters()[0].tensor.shape(), (Shape{32, 64}));
  EXPECT_EQ(generator.next_u32(), Generator(0).next_u32());
}

}  // namespace
}  // namespace ringside
