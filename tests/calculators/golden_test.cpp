// Golden numbers that take arithmetic alone: the toy model y = w x without a bias, w = 1, x = 1 to
// 4, t = 2 x + 1, and what chunks, samplers, launchers, keys, buckets, traffic and half
// precision give.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "calculators/bucket_plan.h"
#include "calculators/costs.h"
#include "calculators/known_models.h"
#include "calculators/launch.h"
#include "calculators/model_tensors.h"
#include "core/state_keys.h"
#include "parallel/chunks.h"
#include "ringside/data.h"
#include "ringside/float16.h"
#include "ringside/optim.h"
#include "ringside/schedule.h"
#include "ringside/tensor.h"
#include "support/inline_device.h"

namespace ringside::test {
namespace {

using Indices = std::vector<std::int64_t>;

/// The toy model with its data on one device.
class Golden : public ::testing::Test {
 protected:
  Tensor column(const std::vector<double>& values) {
    const auto rows = static_cast<std::int64_t>(values.size());
    return Tensor::from_host(device_, {rows, 1}, DType::kFloat32, values, MemoryKind::kInputs);
  }
  /// The mean square error of the whole batch; its gradient times `factor` is left in the weight.
  double loss_and_gradient(double factor = 1) {
    const Tensor loss = mse_loss(linear(x_, weight_, {}), t_);
    backward(scale(loss, factor));
    return host_value(loss, 0);
  }
  double gradient() { return host_value(weight_.grad(), 0); }

  InlineDevice device_;
  Tensor x_ = column({1, 2, 3, 4});
  Tensor t_ = column({3, 5, 7, 9});
  Tensor weight_ = leaf();

 private:
  Tensor leaf() {
    Tensor weight = column({1});
    weight.set_requires_grad(true);
    return weight;
  }
};

TEST_F(Golden, G01OneDeviceMean) {
  EXPECT_EQ(loss_and_gradient(), 13.5);
  EXPECT_EQ(gradient(), -20);
}

TEST_F(Golden, G02OneDeviceSum) {
  constexpr double kRows = 4;  // the sum is the mean times the rows
  EXPECT_EQ(loss_and_gradient(kRows) * kRows, 54);
  EXPECT_EQ(gradient(), -80);
}

TEST_F(Golden, G14ThreeStepsOfSgd) {
  const auto sgd = make_sgd({{"weight", weight_}}, {.lr = 0.01});
  const double losses[] = {13.5, 9.8, 7.12675};
  const double weights[] = {1.2, 1.37, 1.5145};
  for (std::size_t step = 0; step < 3; ++step) {
    sgd->zero_grad();
    EXPECT_NEAR(loss_and_gradient(), losses[step], 2e-5);
    sgd->step();
    EXPECT_NEAR(host_value(weight_, 0), weights[step], 1e-6);
  }
}

TEST_F(Golden, G17ChunkSizes) {
  EXPECT_EQ(chunk_sizes(64, 2), (Indices{32, 32}));
  EXPECT_EQ(chunk_sizes(10, 4), (Indices{3, 3, 3, 1}));
  EXPECT_EQ(chunk_sizes(9, 4), (Indices{3, 3, 3}));
  EXPECT_EQ(chunk_sizes(7, 3), (Indices{3, 3, 1}));
  EXPECT_EQ(chunk_sizes(6, 4), (Indices{2, 2, 2}));
  EXPECT_EQ(chunk_sizes(5, 4), (Indices{2, 2, 1}));
  EXPECT_EQ(chunk_sizes(3, 4), (Indices{1, 1, 1}));
}

TEST_F(Golden, G18SamplerInOrder) {
  const auto dealt = [](int rank, bool drop_last) {
    return distributed_sampler(10, 4, rank, 0, {false, 0, drop_last});
  };
  EXPECT_EQ(dealt(0, false), (Indices{0, 4, 8}));
  EXPECT_EQ(dealt(1, false), (Indices{1, 5, 9}));
  EXPECT_EQ(dealt(2, false), (Indices{2, 6, 0}));
  EXPECT_EQ(dealt(3, false), (Indices{3, 7, 1}));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(dealt(rank, true), (Indices{rank, rank + 4}));
  }
}

TEST_F(Golden, G19SamplerShuffled) {
  const auto dealt = [](std::int64_t epoch) { return distributed_sampler(8, 2, 0, epoch, {}); };
  EXPECT_EQ(dealt(0), (Indices{4, 7, 2, 1}));
  EXPECT_EQ(dealt(1), (Indices{5, 2, 7, 1}));
  EXPECT_EQ(dealt(2), (Indices{0, 7, 6, 1}));
}

TEST_F(Golden, G21BucketsOfResNet18) {
  const std::vector<ModelTensor> parameters = model_tensors(known_model("resnet18"));
  ASSERT_EQ(parameters.size(), 62U);
  ASSERT_EQ(elements_of(parameters), 11'689'512U);
  const auto later = [&](std::size_t cap_mib) {
    std::vector<std::size_t> bytes;
    for (const PlannedBucket& bucket :
         plan_buckets(parameters, {.cap_bytes = cap_mib << 20}).later) {
      bytes.push_back(bucket.bytes);
    }
    return bytes;
  };
  EXPECT_EQ(later(25), (std::vector<std::size_t>{2'052'000, 28'852'224, 15'853'824}));
  EXPECT_EQ(later(35), (std::vector<std::size_t>{2'052'000, 38'297'600, 6'408'448}));
}

/// What k.replace(part, '') makes of a key in Python.
std::string replaced_everywhere(std::string key, const std::string& part) {
  for (std::size_t at = 0; (at = key.find(part, at)) != std::string::npos;) {
    key.erase(at, part.size());
  }
  return key;
}

TEST_F(Golden, G30KeysAreStrippedAtTheirBeginningAlone) {
  struct Key {
    std::string name, replaced, stripped;
  };
  const Key keys[] = {{"module.submodule.weight", "subweight", "submodule.weight"},
                      {"module.encoder.module.bias", "encoder.bias", "encoder.module.bias"},
                      {"my_module.w", "my_w", "my_module.w"}};
  const std::vector<PrefixRule> strip{{"module.", ""}};
  for (const auto& [name, replaced, stripped] : keys) {
    EXPECT_EQ(replaced_everywhere(name, "module."), replaced);
    EXPECT_EQ(renamed(name, strip), stripped);
  }
}

std::string variable(const LaunchedProcess& process, const std::string& name) {
  const auto found = std::find_if(process.environment.begin(), process.environment.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == process.environment.end() ? std::string("(unset)") : found->second;
}

/// Every process of `nodes` nodes with two each.
void expect_two_processes_on_each_of(int nodes) {
  const auto launched = [&](Launcher launcher) {
    return launched_processes(nodes, 2, launcher, "127.0.0.1");
  };
  const auto torchrun = launched(Launcher::kTorchrun);
  const auto launch1 = launched(Launcher::kLaunch1);
  const auto launch2 = launched(Launcher::kLaunch2);
  ASSERT_EQ(torchrun.size(), static_cast<std::size_t>(2 * nodes));
  for (std::size_t rank = 0; rank < torchrun.size(); ++rank) {
    const std::string of_all = std::to_string(rank);
    const std::string local = std::to_string(rank % 2);
    const std::pair<const char*, std::string> expected[] = {
        {"RANK", of_all},
        {"LOCAL_RANK", local},
        {"WORLD_SIZE", std::to_string(2 * nodes)},
        {"LOCAL_WORLD_SIZE", "2"},
        {"GROUP_RANK", std::to_string(rank / 2)},
        {"ROLE_RANK", of_all},
        {"MASTER_ADDR", "127.0.0.1"},
        {"MASTER_PORT", "29500"},
        {"OMP_NUM_THREADS", "1"}};
    for (const auto& [name, value] : expected) {
      EXPECT_EQ(variable(torchrun[rank], name), value) << name << " of rank " << rank;
    }
    EXPECT_TRUE(torchrun[rank].arguments.empty());
    EXPECT_EQ(launch1[rank].arguments, (std::vector<std::string>{"--local_rank=" + local}));
    EXPECT_EQ(launch2[rank].arguments, (std::vector<std::string>{"--local-rank=" + local}));
    EXPECT_EQ(launch1[rank].environment, torchrun[rank].environment);
  }
}

TEST_F(Golden, G31WhatLaunchersGiveAScript) {
  expect_two_processes_on_each_of(1);
  expect_two_processes_on_each_of(3);
}

TEST_F(Golden, G32TrafficOfDataParallelAndOfARing) {
  constexpr std::size_t kParameters = 4'004'000;
  constexpr std::size_t kBatch = 64 * 1000 * sizeof(float);
  const DataParallelTraffic dp = data_parallel_traffic(kParameters, kBatch, kBatch, 4);
  EXPECT_EQ(dp.scatter, 3 * 64'000U);
  EXPECT_EQ(dp.replicate, 3 * kParameters);
  EXPECT_EQ(dp.gather, 3 * 64'000U);
  EXPECT_EQ(dp.scatter_gradient, 3 * 64'000U);
  EXPECT_EQ(dp.reduce, 3 * kParameters);
  EXPECT_EQ(dp.in() + dp.out(), 24'600'000U);
  // The closed form, and the ring that Ringside would run.
  EXPECT_EQ(busiest_devices(kParameters, dp, 4)[2].out, 6'006'000U);
  ScheduleRequest request;
  request.algorithm = Algorithm::kRing;
  request.ranks = 4;
  request.count = kParameters / sizeof(float);
  request.border = Border::kEven;
  EXPECT_EQ(count_cost(make_schedule(request)).max_sent_by_rank * sizeof(float), 6'006'000U);
}

TEST_F(Golden, G33HalfPrecision) {
  EXPECT_EQ(static_cast<float>(Float16(1e-8)), 0);
  EXPECT_NEAR(static_cast<double>(static_cast<float>(Float16(1e-8 * 65536))), 6.55e-4, 1e-6);
  EXPECT_EQ(static_cast<float>(Float16(65504)), 65504);
  EXPECT_EQ(static_cast<float>(Float16(65519)), 65504);
  EXPECT_EQ(static_cast<float>(Float16(65520)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(BFloat16(1 + 0.001)), 1);
}

}  // namespace
}  // namespace ringside::test
