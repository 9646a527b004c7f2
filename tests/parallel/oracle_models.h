// Models, data and comparisons of the recorded DataParallel training runs
// (tests/oracles/recorded_dp_steps.json).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ringside/nn.h"
#include "ringside/optim.h"
#include "ringside/strategy.h"

namespace ringside::test {

inline nlohmann::json oracle_json(const std::string& name) {
  std::ifstream file(std::string(RINGSIDE_TEST_DATA_DIR) + "/oracles/" + name);
  return nlohmann::json::parse(file);
}

/// The listed layers, drawn after torch.manual_seed(seed).
inline std::shared_ptr<Module> model_of(const nlohmann::json& layers, std::uint64_t seed,
                                        Device& device, DType dtype) {
  Generator generator(seed);
  const ModuleContext context{device, dtype, generator};
  std::vector<std::shared_ptr<Module>> modules;
  for (const nlohmann::json& layer : layers) {
    const std::string kind = layer[0];
    if (kind == "linear") modules.push_back(make_linear(context, layer[1], layer[2]));
    if (kind == "batchnorm1d") modules.push_back(make_batch_norm1d(context, layer[1]));
    if (kind == "relu") modules.push_back(make_relu());
    if (kind == "tanh") modules.push_back(make_tanh());
  }
  return make_sequential(std::move(modules));
}

/// x = rand * 2 - 1 in float32, y = randint, from one generator.
struct OracleData {
  explicit OracleData(const nlohmann::json& spec) : features(spec["features"]), rows(spec["rows"]) {
    Generator generator(static_cast<std::uint64_t>(spec["seed"]));
    for (std::int64_t i = 0; i < rows * features; ++i) {
      const auto draw = static_cast<float>(generator.uniform(0, 1, DType::kFloat32));
      x.push_back(draw * 2.0F - 1.0F);
    }
    for (std::int64_t i = 0; i < rows; ++i) y.push_back(generator.randint(0, spec["classes"]));
  }

  Batch batch(Device& device, DType dtype, std::int64_t begin, std::int64_t count) const {
    const std::vector<double> inputs(x.begin() + begin * features,
                                     x.begin() + (begin + count) * features);
    const std::vector<double> targets(y.begin() + begin, y.begin() + begin + count);
    return {Tensor::from_host(device, Shape{count, features}, dtype, inputs, MemoryKind::kInputs,
                              "input"),
            Tensor::from_host(device, Shape{count}, DType::kInt64, targets, MemoryKind::kInputs,
                              "targets")};
  }

  std::int64_t features;
  std::int64_t rows;
  std::vector<double> x;
  std::vector<std::int64_t> y;
};

inline OptimizerFactory sgd_of(const nlohmann::json& run) {
  SgdOptions options;
  options.lr = run["lr"];
  options.momentum = run["momentum"];
  return [options](std::vector<NamedTensor> parameters) {
    return make_sgd(std::move(parameters), options);
  };
}

/// float32: 2e-5 relative and 2e-6 absolute (BLAS adds in its own order); float64: 1e-11.
inline void expect_close(double value, double expected, DType dtype, const std::string& what) {
  const double tolerance = dtype == DType::kFloat32 ? 2e-6 + 2e-5 * std::abs(expected)
                                                    : 1e-11 * (1 + std::abs(expected));
  EXPECT_NEAR(value, expected, tolerance) << what;
}

inline void expect_tensors(const std::vector<NamedTensor>& tensors, const nlohmann::json& expected,
                           DType dtype, const std::string& what) {
  ASSERT_EQ(tensors.size(), expected.size()) << what;
  for (const NamedTensor& entry : tensors) {
    ASSERT_TRUE(expected.contains(entry.name)) << what << ' ' << entry.name;
    const std::vector<double> values = host_values(entry.tensor);
    const nlohmann::json& wanted = expected[entry.name];
    const std::size_t count = wanted.is_array() ? wanted.size() : 1;
    ASSERT_EQ(values.size(), count) << what << ' ' << entry.name;
    for (std::size_t i = 0; i < count; ++i) {
      expect_close(values[i], wanted.is_array() ? wanted[i] : wanted, dtype,
                   what + ' ' + entry.name);
    }
  }
}

inline std::vector<NamedTensor> gradients_of(const Module& module) {
  std::vector<NamedTensor> gradients;
  for (const NamedTensor& entry : module.named_parameters()) {
    gradients.push_back({entry.name, entry.tensor.grad()});
  }
  return gradients;
}

}  // namespace ringside::test
