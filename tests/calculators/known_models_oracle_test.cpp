// Names and shapes of the built-in models against those that a real DDP had (buckets.json), and the
// buckets planned for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "calculators/bucket_plan.h"
#include "calculators/known_models.h"
#include "support/oracle.h"

namespace ringside::test {
namespace {

using Sizes = std::vector<std::size_t>;

/// The name that known_model has for an oracle's model: "mlp:64-32-10" is "mlp:64,32,10".
std::string own_name(std::string model) {
  if (model.starts_with("mlp:")) std::replace(model.begin(), model.end(), '-', ',');
  return model;
}

/// Small transformers of any size ("bert:2-64-128-100") are built in for nobody but a test.
bool is_built_in(const std::string& model) {
  const auto names = known_models();
  return model.starts_with("mlp:") || std::find(names.begin(), names.end(), model) != names.end();
}

Sizes bytes_of(const std::vector<PlannedBucket>& buckets) {
  Sizes bytes;
  for (const PlannedBucket& bucket : buckets) bytes.push_back(bucket.bytes);
  return bytes;
}

void compare_model(Record& record) {
  record.leave({"bucket_cap_mb", "total_params", "tensors", "params", "initial_if_find_unused",
                "rebuilt_if_exact_reverse", "real_ddp_find_unused=False",
                "real_ddp_find_unused=True"});
  const std::string name = own_name(record.get<std::string>("model"));
  if (!is_built_in(name)) return;
  const std::vector<NamedShape> parameters = known_model(name);
  if (record.has("params")) {
    const Json& expected = record["params"];
    ASSERT_EQ(parameters.size(), expected.size());
    const bool mlp = name.starts_with("mlp:");  // numbered without the activations there
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!mlp) {
        EXPECT_EQ(parameters[i].name, expected[i][0].get<std::string>());
      }
      EXPECT_EQ(parameters[i].shape, expected[i][1].get<std::vector<std::int64_t>>());
    }
  }
  const std::vector<ModelTensor> tensors = model_tensors(parameters);
  BucketPlanRequest request;
  constexpr double kMebibyte = 1 << 20;
  request.cap_bytes = static_cast<std::size_t>(record.get<double>("bucket_cap_mb") * kMebibyte);
  EXPECT_EQ(bytes_of(plan_buckets(tensors, request).later),
            record["rebuilt_if_exact_reverse"]["bytes"].get<Sizes>());
  request.find_unused_parameters = true;
  const Json& real = record["real_ddp_find_unused=True"];
  EXPECT_EQ(bytes_of(plan_buckets(tensors, request).later),
            real["initial_bucket_bytes"].get<Sizes>());
}

TEST(KnownModelsOracle, AndTheirBucketsAreDdps) {
  with_oracle("buckets.json", [](Record& file) {
    file.leave({"hand", "random", "upstream_test_facts"});
    file.for_each("models", [](Record& record) {
      if (record.has("real_ddp_find_unused=True")) return compare_model(record);
      for (const std::string& field : record.fields()) record.leave({field});  // was not run
    });
  });
}

}  // namespace
}  // namespace ringside::test
