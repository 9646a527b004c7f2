// Parameters and buffers, dtypes and orders of a model's tensors.
#include "calculators/model_tensors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "calculators/bucket_plan.h"
#include "calculators/costs.h"

namespace ringside {
namespace {

std::vector<std::string> names_of(const std::vector<ModelTensor>& tensors) {
  std::vector<std::string> names;
  for (const ModelTensor& tensor : tensors) names.push_back(tensor.named.name);
  return names;
}

TEST(ModelTensors, BuffersAreKnownByNameAndByDtype) {
  EXPECT_TRUE(is_buffer({{"bn.running_mean", {4}}, DType::kFloat32}));
  EXPECT_TRUE(is_buffer({{"running_var", {4}}, DType::kFloat32}));
  EXPECT_TRUE(is_buffer({{"embeddings.position_ids", {1, 512}}, DType::kInt64}));
  EXPECT_FALSE(is_buffer({{"bn.weight", {4}}, DType::kFloat16}));
  EXPECT_FALSE(is_buffer({{"my_running_mean", {4}}, DType::kFloat32}));
}

TEST(ModelTensors, LayersAreOrderedByNumberAndWeightsBeforeBiases) {
  std::vector<ModelTensor> tensors = model_tensors({{"0.bias", {}},
                                                    {"0.weight", {}},
                                                    {"10.bias", {}},
                                                    {"10.weight", {}},
                                                    {"2.bias", {}},
                                                    {"2.weight", {}}});
  EXPECT_TRUE(is_sorted_by_name(tensors));
  sort_by_layers(tensors);
  EXPECT_EQ(names_of(tensors), (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias",
                                                         "10.weight", "10.bias"}));
  EXPECT_FALSE(is_sorted_by_name(tensors));
}

// The library writes all of one dtype, then all of the next, wider ones first.
TEST(ModelTensors, ADtypeThatComesBackIsNotTheLibrarysOrder) {
  const auto tensors_of = [](std::initializer_list<std::pair<const char*, DType>> list) {
    std::vector<ModelTensor> tensors;
    for (const auto& [name, dtype] : list) tensors.push_back({{name, {1}}, dtype});
    return tensors;
  };
  constexpr DType kWide = DType::kFloat32;
  constexpr DType kNarrow = DType::kFloat16;
  EXPECT_TRUE(is_sorted_by_name(tensors_of({{"b", kWide}, {"c", kWide}, {"a", kNarrow}})));
  EXPECT_FALSE(is_sorted_by_name(tensors_of({{"z", kWide}, {"m", kNarrow}, {"a", kWide}})));
  EXPECT_FALSE(is_sorted_by_name(tensors_of({{"a", kNarrow}, {"b", kWide}})));
}

TEST(ModelTensors, NoBucketHasTwoDtypesAndBytesAreTheDtypes) {
  const std::vector<ModelTensor> parameters = {{{"a", {100}}, DType::kFloat32},
                                               {{"b", {100}}, DType::kFloat16},
                                               {{"c", {10}}, DType::kFloat32}};
  EXPECT_EQ(bytes_of(parameters), 640U);
  const BucketPlan plan = plan_buckets(parameters, {});
  ASSERT_EQ(plan.later.size(), 2U);
  EXPECT_EQ(plan.later[0].parameters, (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(plan.later[1].bytes, 200U);
  EXPECT_EQ(plan.first_iteration.size(), 2U);
}

TEST(ModelTensors, SeveralServersShareTheTraffic) {
  const DataParallelTraffic none;
  EXPECT_EQ(busiest_devices(1000, none, 4)[1].out, 4000U);
  EXPECT_EQ(busiest_devices(1000, none, 4, 2)[1].out, 2000U);
  EXPECT_EQ(busiest_devices(1000, none, 4, 4)[1].out, 1000U);
  // With more servers than workers, a worker is busier than a server.
  EXPECT_EQ(busiest_devices(1000, none, 4, 8)[1].out, 1000U);
  EXPECT_EQ(busiest_devices(1000, none, 4, 8)[1].device, "every worker");
}

}  // namespace
}  // namespace ringside
