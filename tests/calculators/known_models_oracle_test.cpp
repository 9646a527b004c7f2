// Names and shapes of the built-in models against those that a real DDP had (buckets.json), and the
// buckets planned for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calculators/bucket_plan.h"
#include "calculators/known_models.h"
#include "support/oracle.h"

namespace ringside::test {
namespace {

using Sizes = std::vector<std::size_t>;

std::vector<std::int64_t> sizes_of(const std::string& model) {
  std::string list = model.substr(model.find(':') + 1);
  std::replace(list.begin(), list.end(), '-', ',');
  return exactly<std::vector<std::int64_t>>(Json::parse('[' + list + ']'));
}

/// The parameters of a built-in transformer with other sizes and another number of its blocks,
/// whose names begin with `block`.
std::vector<NamedShape> resized(const std::string& model, const std::string& block,
                                std::int64_t blocks,
                                const std::map<std::int64_t, std::int64_t>& sizes) {
  std::vector<NamedShape> parameters, first_block;
  const auto add_blocks = [&] {
    for (std::int64_t i = 0; i < blocks && !first_block.empty(); ++i) {
      for (const NamedShape& parameter : first_block) {
        const std::string rest = parameter.name.substr(block.size() + 1);
        parameters.push_back({block + std::to_string(i) + rest, parameter.shape});
      }
    }
    first_block.clear();
  };
  for (NamedShape parameter : known_model(model)) {
    for (std::int64_t& size : parameter.shape) {
      if (const auto other = sizes.find(size); other != sizes.end()) size = other->second;
    }
    if (parameter.name.starts_with(block + "0.")) {
      first_block.push_back(parameter);
    } else if (!parameter.name.starts_with(block)) {
      add_blocks();
      parameters.push_back(parameter);
    }
  }
  return parameters;
}

/// Of a model by its name in the file: built in, "mlp:64-32-10",
/// "bert:LAYERS-WIDTH-INNER-WORDS", "gpt2:LAYERS-WIDTH-WORDS-CONTEXT".
std::vector<NamedShape> parameters_of(const std::string& model) {
  if (model.find(':') == std::string::npos) return known_model(model);
  const std::vector<std::int64_t> sizes = sizes_of(model);
  if (model.starts_with("bert:")) {
    return resized("bert-base", "encoder.layer.", sizes.at(0),
                   {{768, sizes.at(1)}, {3072, sizes.at(2)}, {30522, sizes.at(3)}});
  }
  if (model.starts_with("gpt2:")) {
    const std::int64_t width = sizes.at(1);
    return resized("gpt2-small", "h.", sizes.at(0),
                   {{768, width},
                    {3 * 768, 3 * width},
                    {4 * 768, 4 * width},
                    {50257, sizes.at(2)},
                    {1024, sizes.at(3)}});
  }
  if (!model.starts_with("mlp:")) throw std::runtime_error("model '" + model + "' is unknown");
  std::vector<NamedShape> layers;  // numbered without the activations between them
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    layers.push_back({std::to_string(i) + ".weight", {sizes[i + 1], sizes[i]}});
    layers.push_back({std::to_string(i) + ".bias", {sizes[i + 1]}});
  }
  return layers;
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
  const auto model = record.get<std::string>("model");
  const std::vector<NamedShape> parameters = parameters_of(model);
  if (model.starts_with("mlp:")) {
    std::string own = model;
    std::replace(own.begin(), own.end(), '-', ',');
    const std::vector<NamedShape> built_in = known_model(own);
    ASSERT_EQ(built_in.size(), parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_EQ(built_in[i].shape, parameters[i].shape);
    }
  }
  if (record.has("params")) {
    const Json& expected = record.list("params", parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      list_of(2, expected[i], "parameter " + expected[i].dump());
      EXPECT_EQ(parameters[i].name, exactly<std::string>(expected[i][0]));
      EXPECT_EQ(parameters[i].shape, exactly<std::vector<std::int64_t>>(expected[i][1]));
    }
  }
  const std::vector<ModelTensor> tensors = model_tensors(parameters);
  BucketPlanRequest request;
  constexpr double kMebibyte = 1 << 20;
  request.cap_bytes = static_cast<std::size_t>(record.get<double>("bucket_cap_mb") * kMebibyte);
  EXPECT_EQ(bytes_of(plan_buckets(tensors, request).later),
            exactly<Sizes>(record["rebuilt_if_exact_reverse"].at("bytes")));
  if (!record.has("real_ddp_find_unused=True")) return;  // was not run
  request.find_unused_parameters = true;
  const Json& real = record["real_ddp_find_unused=True"];
  EXPECT_EQ(bytes_of(plan_buckets(tensors, request).later),
            exactly<Sizes>(real.at("initial_bucket_bytes")));
}

TEST(KnownModelsOracle, AndTheirBucketsAreDdps) {
  with_oracle("buckets.json", [](Record& file) {
    file.leave({"hand", "random", "upstream_test_facts"});
    file.for_each("models", compare_model);
  });
}

}  // namespace
}  // namespace ringside::test
