// SyncBatchNorm: ranks with parts of a batch compute what one device computes with all of it.
#include <gtest/gtest.h>

#include <vector>

#include "toy.h"

namespace ringside::test {
namespace {

constexpr std::int64_t kFeatures = 3;

std::shared_ptr<Module> normalising_model(Device& device, DType dtype) {
  Generator generator(5);
  const ModuleContext context{device, dtype, generator};
  return make_sequential({make_linear(context, kFeatures, 4), make_batch_norm1d(context, 4),
                          make_tanh(), make_linear(context, 4, 2)});
}

/// Rows [begin, begin + count) of a batch of made-up numbers.
Tensor rows(Device& device, DType dtype, std::int64_t begin, std::int64_t count,
            std::int64_t width) {
  Generator generator(static_cast<std::uint64_t>(width));
  std::vector<double> all;
  for (std::int64_t i = 0; i < 16 * width; ++i) all.push_back(generator.uniform(-1, 1, dtype));
  const auto first = all.begin() + begin * width;
  return Tensor::from_host(device, Shape{count, width}, dtype,
                           std::vector<double>(first, first + count * width), MemoryKind::kInputs);
}

struct Outcome {
  std::vector<std::vector<double>> gradients, buffers;
};

Outcome outcome_of(const Module& module) {
  Outcome outcome;
  for (const NamedTensor& entry : module.named_parameters()) {
    outcome.gradients.push_back(host_values(entry.tensor.grad()));
  }
  for (const NamedTensor& entry : module.named_buffers()) {
    outcome.buffers.push_back(host_values(entry.tensor));
  }
  return outcome;
}

void expect_alike(const std::vector<std::vector<double>>& values,
                  const std::vector<std::vector<double>>& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t tensor = 0; tensor < values.size(); ++tensor) {
    ASSERT_EQ(values[tensor].size(), expected[tensor].size());
    for (std::size_t i = 0; i < values[tensor].size(); ++i) {
      EXPECT_NEAR(values[tensor][i], expected[tensor][i], tolerance) << tensor << ' ' << i;
    }
  }
}

Outcome on_one_device(DType dtype) {
  Outcome outcome;
  const auto world = sim_world(1);
  world->drive([&] {
    Device& device = world->device(0);
    const auto module = normalising_model(device, dtype);
    backward(mse_loss(module->forward(rows(device, dtype, 0, 8, kFeatures)),
                      rows(device, dtype, 0, 8, 2)));
    outcome = outcome_of(*module);
  });
  return outcome;
}

/// The loss of each rank is weighted so that the mean over ranks is that of all rows.
Outcome on_ranks(DType dtype, const std::vector<std::int64_t>& shares) {
  Outcome outcome;
  sim_world(static_cast<int>(shares.size()))->run([&](Rank& rank) {
    const auto module = normalising_model(rank.device, dtype);
    EXPECT_EQ(convert_sync_batchnorm(*module, rank), 1);
    DistributedDataParallel ddp(module, rank);
    std::int64_t begin = 0;
    for (int other = 0; other < rank.rank; ++other)
      begin += shares[static_cast<std::size_t>(other)];
    const std::int64_t count = shares[static_cast<std::size_t>(rank.rank)];
    const Tensor loss = mse_loss(ddp.forward(rows(rank.device, dtype, begin, count, kFeatures)),
                                 rows(rank.device, dtype, begin, count, 2));
    ddp.backward(scale(loss, static_cast<double>(count) * static_cast<double>(shares.size()) / 8));
    const Outcome own = outcome_of(*module);
    if (rank.rank == 0) outcome = own;
  });
  return outcome;
}

TEST(SyncBatchNorm, EqualsOneDeviceWithTheWholeBatch) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32}) {
    const double tolerance = dtype == DType::kFloat64 ? 1e-12 : 2e-6;
    const Outcome single = on_one_device(dtype);
    for (const std::vector<std::int64_t>& shares :
         std::vector<std::vector<std::int64_t>>{{4, 4}, {5, 2, 1}}) {
      const Outcome ranks = on_ranks(dtype, shares);
      expect_alike(ranks.gradients, single.gradients, tolerance);
      expect_alike(ranks.buffers, single.buffers, tolerance);
    }
  }
}

TEST(SyncBatchNorm, UsesTheVarianceOfAllRanks) {
  sim_world(2)->run([](Rank& rank) {
    Generator generator(0);
    const auto module = make_batch_norm1d({rank.device, DType::kFloat64, generator}, 1);
    convert_sync_batchnorm(*module, rank);
    const double mean = rank.rank == 0 ? 1 : 5;
    module->forward(Tensor::from_host(rank.device, Shape{2, 1}, DType::kFloat64,
                                      std::vector{mean - 1, mean + 1}, MemoryKind::kInputs));
    EXPECT_NEAR(host_value(module->named_buffers()[0].tensor, 0), 0.3, 1e-12);
    // Of 0, 2, 4, 6: 5 if divided by 4, 20 / 3 by 3.
    EXPECT_NEAR(host_value(module->named_buffers()[1].tensor, 0), 0.9 + 2.0 / 3, 1e-12);
    EXPECT_EQ(module->describe().substr(0, 13), "SyncBatchNorm");
  });
}

}  // namespace
}  // namespace ringside::test
