// The golden numbers of DistributedDataParallel, measured with a real PyTorch (gloo).
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "toy.h"

namespace ringside::test {
namespace {

constexpr std::size_t kMiB = 1024 * 1024;

/// y = w x, one weight, without a bias.
struct Toy {
  explicit Toy(Rank& rank_of, const DdpWrapperOptions& options = {}, double weight = 1)
      : rank(rank_of), ddp(toy_model(rank.device, weight), rank, options) {}

  Tensor loss(const std::vector<double>& x) {
    const Batch batch = toy_batch(rank.device, x);
    return toy_loss(ddp.forward(batch.inputs), batch.targets);
  }
  /// The output itself as the loss: the gradient of the weight is x.
  Tensor output(double x) {
    return ddp.forward(
        Tensor::full(rank.device, Shape{1, 1}, DType::kFloat64, x, MemoryKind::kInputs));
  }
  Tensor weight() const { return ddp.module().named_parameters().front().tensor; }
  double gradient() const { return host_value(weight().grad(), 0); }
  void zero_grad() const { weight().set_grad({}); }

  Rank& rank;
  DistributedDataParallel ddp;
};

/// What `measure` gives on each rank.
template <typename Measure>
std::vector<double> on_ranks(int ranks, const Measure& measure) {
  std::vector<double> values(static_cast<std::size_t>(ranks));
  sim_world(ranks)->run(
      [&](Rank& rank) { values[static_cast<std::size_t>(rank.rank)] = measure(rank); });
  return values;
}

using Numbers = std::vector<double>;
using Shards = std::vector<Numbers>;

/// The mean loss over `shard`, or with a factor per row as many times that.
Tensor scaled(const Tensor& loss, const Numbers& shard, double factor_per_row) {
  if (factor_per_row == 0) return loss;
  return scale(loss, factor_per_row * static_cast<double>(shard.size()));
}

/// The gradient of every rank after one synchronised backward of the mean loss over its shard.
Numbers averaged(const Shards& shards, double factor_per_row = 0) {
  return on_ranks(static_cast<int>(shards.size()), [&](Rank& rank) {
    const Numbers& x = shards[static_cast<std::size_t>(rank.rank)];
    Toy toy(rank);
    toy.ddp.backward(scaled(toy.loss(x), x, factor_per_row));
    return toy.gradient();
  });
}

/// The same without the wrapper.
Numbers local(const Shards& shards, double factor_per_row = 0) {
  return on_ranks(static_cast<int>(shards.size()), [&](Rank& rank) {
    const Numbers& x = shards[static_cast<std::size_t>(rank.rank)];
    Toy toy(rank);
    const Batch batch = toy_batch(rank.device, x);
    const Tensor loss = toy_loss(toy.ddp.module().forward(batch.inputs), batch.targets);
    toy.ddp.backward(scaled(loss, x, factor_per_row));
    return toy.gradient();
  });
}

Numbers losses(const Shards& shards) {
  return on_ranks(static_cast<int>(shards.size()), [&](Rank& rank) {
    return host_value(Toy(rank).loss(shards[static_cast<std::size_t>(rank.rank)]), 0);
  });
}

void expect_near(const Numbers& values, const Numbers& expected, double tolerance = 1e-12) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance) << "rank " << i;
  }
}

TEST(Golden, G09TwoRanksOfTwoSamples) {
  const Shards shards{{1, 2}, {3, 4}};
  expect_near(losses(shards), {6.5, 20.5});
  expect_near(local(shards), {-8, -32});
  expect_near(averaged(shards), {-20, -20});
}

TEST(Golden, G10ThreeSamplesAndOneAreAMeanOfMeans) {
  const Shards shards{{1, 2, 3}, {4}};
  expect_near(local(shards), {-40.0 / 3, -40});
  expect_near(averaged(shards), {-80.0 / 3, -80.0 / 3});
}

TEST(Golden, G11SummedLossesAreStillAveragedOverRanks) {
  const Shards shards{{1, 2}, {3, 4}};
  expect_near(local(shards, 1), {-16, -64});
  expect_near(averaged(shards, 1), {-40, -40});
}

TEST(Golden, G12WithoutASamplerEveryRankDoesAllTheWork) {
  expect_near(averaged({{1, 2, 3, 4}, {1, 2, 3, 4}}), {-20, -20});
}

TEST(Golden, G13StridedShards) {
  const Shards shards{{1, 3}, {2, 4}};
  expect_near(losses(shards), {10, 17});
  expect_near(averaged(shards), {-20, -20});
}

TEST(Golden, G15FourMicroBatchesOfOne) {
  for (const double divisor : {1.0, 4.0}) {
    const Numbers gradients = on_ranks(1, [&](Rank& rank) {
      Toy toy(rank);
      for (const double x : {1.0, 2.0, 3.0, 4.0}) {
        toy.ddp.backward(scale(toy.loss({x}), 1 / divisor));
      }
      return toy.gradient();
    });
    expect_near(gradients, {-80 / divisor});
  }
}

TEST(Golden, G16NoSyncOnTheFirstOfTwoMicroBatches) {
  Numbers after_first(2);
  const Numbers after_second = on_ranks(2, [&](Rank& rank) {
    Toy toy(rank);
    const Numbers shard{1.0 + rank.rank, 3.0 + rank.rank};  // in both micro batches
    {
      const DistributedDataParallel::NoSync no_sync(toy.ddp);
      toy.ddp.backward(toy.loss(shard));
    }
    after_first[static_cast<std::size_t>(rank.rank)] = toy.gradient();
    toy.ddp.backward(toy.loss(shard));
    return toy.gradient();
  });
  expect_near(after_first, {-14, -26});
  expect_near(after_second, {-40, -40});
}

/// Bytes of the buckets before the first step and after the second.
std::vector<std::size_t> bucket_bytes(const DistributedDataParallel& ddp) {
  std::vector<std::size_t> bytes;
  for (const TraceRun::Bucket& bucket : ddp.buckets()) bytes.push_back(bucket.bytes);
  return bytes;
}

TEST(Golden, G20BucketsOfTenLayersOfFourMiB) {
  using Sizes = std::vector<std::size_t>;
  const auto expect_rebuilt = [](std::size_t cap, const Sizes& expected) {
    WorldOptions world_options;
    world_options.size = 2;
    const auto world = open_world("meta", world_options);  // 40 MiB that nobody needs
    world->run([&](Rank& rank) {
      Generator generator(0);
      std::vector<std::shared_ptr<Module>> layers;
      for (int i = 0; i < 10; ++i) {
        layers.push_back(make_linear({rank.device, DType::kFloat32, generator}, 1024, 1024, false));
      }
      DdpWrapperOptions options;
      options.bucket_cap_bytes = cap;
      DistributedDataParallel ddp(make_sequential(std::move(layers)), rank, options);
      EXPECT_EQ(bucket_bytes(ddp), Sizes{40 * kMiB});
      const Tensor input =
          Tensor::empty(rank.device, Shape{4, 1024}, DType::kFloat32, MemoryKind::kInputs);
      ddp.backward(mse_loss(ddp.forward(input), input));
      EXPECT_EQ(bucket_bytes(ddp), Sizes{40 * kMiB});
      ddp.forward(input);
      EXPECT_EQ(bucket_bytes(ddp), expected);
      EXPECT_EQ(ddp.buckets().front().parameters.front(), "9.weight");
    });
  };
  expect_rebuilt(25 * kMiB, {4 * kMiB, 28 * kMiB, 8 * kMiB});
  expect_rebuilt(8 * kMiB, {4 * kMiB, 8 * kMiB, 8 * kMiB, 8 * kMiB, 8 * kMiB, 4 * kMiB});
}

TEST(Golden, G23RankZerosRunningMeanIsBroadcastBeforeEveryForward) {
  std::vector<Numbers> means(2, Numbers(2));
  sim_world(2)->run([&](Rank& rank) {
    Generator generator(0);
    DistributedDataParallel ddp(make_batch_norm1d({rank.device, DType::kFloat64, generator}, 1),
                                rank);
    const double mean = rank.rank == 0 ? 5 : 10;
    const Tensor input = Tensor::from_host(rank.device, Shape{2, 1}, DType::kFloat64,
                                           std::vector{mean - 1, mean + 1}, MemoryKind::kInputs);
    const Tensor target =
        Tensor::full(rank.device, Shape{2, 1}, DType::kFloat64, 0, MemoryKind::kInputs);
    for (std::size_t step = 0; step < 2; ++step) {
      ddp.backward(mse_loss(ddp.forward(input), target));
      means[step][static_cast<std::size_t>(rank.rank)] =
          host_value(ddp.module().named_buffers().front().tensor, 0);
    }
  });
  expect_near(means[0], {0.5, 1.0});
  expect_near(means[1], {0.95, 1.45});
}

TEST(Golden, G24JoinWithTwoThreeAndFourBatches) {
  const auto train = [](bool divide_by_initial_world_size, Numbers& weights) {
    Numbers gradients;
    weights = on_ranks(3, [&](Rank& rank) {
      Toy toy(rank);
      JoinOptions join;
      join.divide_by_initial_world_size = divide_by_initial_world_size;
      toy.ddp.begin_join(join);
      for (int batch = 0; batch < rank.rank + 2; ++batch) {
        toy.zero_grad();
        toy.ddp.backward(toy.output(rank.rank + 1));
        if (rank.rank == 2) gradients.push_back(toy.gradient());
        Tensor weight = toy.weight();
        const Tensor step = scale(toy.weight().grad().detach(), -0.1);
        add_in_place(weight, step);
      }
      EXPECT_EQ(toy.ddp.end_join(), 2 - rank.rank);
      return host_value(toy.weight(), 0);
    });
    return gradients;
  };
  Numbers weights;
  expect_near(train(true, weights), {2, 2, 5.0 / 3, 1});
  expect_near(weights, {1 - 20.0 / 30, 1 - 20.0 / 30, 1 - 20.0 / 30});
  expect_near(train(false, weights), {2, 2, 2.5, 3});
  expect_near(weights, {0.05, 0.05, 0.05});
}

TEST(Golden, G25TheBareModuleSynchronisesNothing) {
  const Numbers gradients = on_ranks(2, [&](Rank& rank) {
    Toy toy(rank);
    toy.ddp.backward(toy.ddp.module().forward(Tensor::full(
        rank.device, Shape{1, 1}, DType::kFloat64, 1 + rank.rank, MemoryKind::kInputs)));
    return toy.gradient();
  });
  expect_near(gradients, {1, 2});
}

TEST(Golden, G26TheForwardDecidesAboutNoSync) {
  const Numbers forward_inside = on_ranks(2, [&](Rank& rank) {
    Toy toy(rank);
    const Tensor output = [&] {
      const DistributedDataParallel::NoSync no_sync(toy.ddp);
      return toy.output(1 + rank.rank);
    }();
    toy.ddp.backward(output);
    return toy.gradient();
  });
  expect_near(forward_inside, {1, 2});
  const Numbers backward_inside = on_ranks(2, [&](Rank& rank) {
    Toy toy(rank);
    const Tensor output = toy.output(1 + rank.rank);
    const DistributedDataParallel::NoSync no_sync(toy.ddp);
    toy.ddp.backward(output);
    return toy.gradient();
  });
  expect_near(backward_inside, {1.5, 1.5});
}

TEST(Golden, G27AChangedParameterStaysChanged) {
  const Numbers weights = on_ranks(2, [&](Rank& rank) {
    Toy toy(rank);
    Tensor weight = toy.weight();
    if (rank.rank == 1) fill_in_place(weight, 2);
    toy.ddp.backward(toy.loss({1, 2}));
    add_in_place(weight, scale(weight.grad().detach(), -0.01));
    return host_value(weight, 0);
  });
  EXPECT_NEAR(weights[1] - weights[0], 1, 1e-12);
}

/// Of Linear(1, 1), drawn after manual_seed(rank).
TEST(Golden, G28TheConstructorBroadcastsRankZerosWeights) {
  Numbers drawn(2);
  const Numbers weights = on_ranks(2, [&](Rank& rank) {
    Generator generator(static_cast<std::uint64_t>(rank.rank));
    const auto module = make_linear({rank.device, DType::kFloat32, generator}, 1, 1, false);
    const Tensor weight = module->named_parameters().front().tensor;
    drawn[static_cast<std::size_t>(rank.rank)] = host_value(weight, 0);
    const DistributedDataParallel ddp(module, rank);
    return host_value(weight, 0);
  });
  expect_near(drawn, {-0.0075, 0.5153}, 5e-5);
  EXPECT_EQ(weights, (Numbers{drawn[0], drawn[0]}));
}

}  // namespace
}  // namespace ringside::test
