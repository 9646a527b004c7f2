// DistributedDataParallel's corners: join, several backwards, construction, buffers.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ddp_corners.h"

namespace ringside::test {
namespace {

// ---------------------------------------------------------------- join

TEST(DdpJoin, ThrowsOnAllRanksIfAsked) {
  std::vector<std::string> errors(2);
  error_of(2, [&](Rank& rank) {
    Wrapped wrapped(rank);
    JoinOptions join;
    join.throw_on_early_termination = true;
    wrapped.ddp.begin_join(join);
    try {
      for (int batch = 0; batch < 2 + rank.rank; ++batch) wrapped.step(1, true);
      wrapped.ddp.end_join();
    } catch (const Error& error) {
      errors[static_cast<std::size_t>(rank.rank)] = error.what();
    }
  });
  expect_has(errors[0], "Rank 0 exhausted all inputs");
  expect_has(errors[1], "Detected at least one rank that exhausted inputs");
}

TEST(DdpJoin, BuffersComeFromTheHighestRankThatHasABatch) {
  std::vector<double> means(3);
  sim_world(3)->run([&](Rank& rank) {
    Generator generator(0);
    DistributedDataParallel ddp(make_batch_norm1d({rank.device, DType::kFloat64, generator}, 1),
                                rank);
    ddp.begin_join({});
    // Ranks 0, 1 and 2 have 1, 2 and 1 batches, of mean 10, 20 and 30.
    for (int batch = 0; batch < (rank.rank == 1 ? 2 : 1); ++batch) {
      const double mean = 10 * (rank.rank + 1);
      const Tensor input = Tensor::from_host(rank.device, Shape{2, 1}, DType::kFloat64,
                                             std::vector{mean - 1, mean + 1}, MemoryKind::kInputs);
      ddp.backward(mse_loss(ddp.forward(input), input));
    }
    ddp.end_join();
    means[static_cast<std::size_t>(rank.rank)] =
        host_value(ddp.module().named_buffers().front().tensor, 0);
  });
  // Rank 1's after its second batch: 0.9 * 2 + 2.
  for (const double mean : means) EXPECT_NEAR(mean, 3.8, 1e-12);
}

TEST(DdpJoin, TheRebuildMeetsRanksThatHaveFinished) {
  sim_world(2)->run([](Rank& rank) {
    DdpWrapperOptions options;
    options.first_bucket_bytes = 1;
    options.bucket_cap_bytes = 1;
    Wrapped wrapped(rank, options);
    wrapped.ddp.begin_join({});
    for (int batch = 0; batch < 1 + 2 * rank.rank; ++batch) {
      wrapped.zero_grad();
      wrapped.step(2, true);
    }
    EXPECT_EQ(wrapped.ddp.end_join(), rank.rank == 0 ? 2 : 0);
    EXPECT_EQ(wrapped.ddp.buckets().size(), 2U);
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), rank.rank == 0 ? 2 : 1);
  });
}

// ---------------------------------------------------------------- several forwards and backwards

TEST(DdpBackward, OfTwoForwardsAndTheirSumIsReducedOnce) {
  sim_world(2)->run([](Rank& rank) {
    Wrapped wrapped(rank);
    const Tensor first = wrapped.ddp.forward(wrapped.input(rank.rank + 1));
    const Tensor second = wrapped.ddp.forward(wrapped.input(rank.rank + 1));
    wrapped.ddp.backward(add(first, second));
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), 3);
  });
}

TEST(DdpBackward, TheSecondOfTwoIsNotReduced) {
  sim_world(2)->run([](Rank& rank) {
    Wrapped wrapped(rank);
    const Tensor first = wrapped.ddp.forward(wrapped.input(rank.rank + 1));
    const Tensor second = wrapped.ddp.forward(wrapped.input(rank.rank + 1));
    wrapped.ddp.backward(first);
    wrapped.ddp.backward(second);
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), 1.5 + rank.rank + 1);
  });
}

TEST(DdpBackward, ThroughOneGraphTwiceIsAnError) {
  const std::string message = error_of(2, [](Rank& rank) {
    Wrapped wrapped(rank);
    const Tensor output = wrapped.ddp.forward(wrapped.input(1));
    wrapped.ddp.backward(output);
    wrapped.ddp.backward(output);
  });
  expect_has(message, "trying to backward through the graph a second time");
}

// ---------------------------------------------------------------- construction

TEST(DdpConstructor, TakesOneDeviceIdWhichIsTheRanksOwn) {
  const auto with_ids = [](std::vector<int> ids) {
    return error_of(2, [ids = std::move(ids)](Rank& rank) {
      DdpWrapperOptions options;
      options.device_ids = ids;
      const Wrapped wrapped(rank, options);
    });
  };
  expect_has(with_ids({0, 1}), "device_ids can only be None or contain a single element");
  expect_has(with_ids({0}), "device_ids [0] on rank 1: its module is on device 1");
}

TEST(DdpConstructor, FrozenParametersAreBroadcastButNotReduced) {
  sim_world(2)->run([](Rank& rank) {
    const auto module = std::make_shared<Branches>(rank.device);
    Tensor frozen = module->named_parameters()[1].tensor;
    frozen.set_requires_grad(false);
    fill_in_place(frozen, 3 + rank.rank);
    DistributedDataParallel ddp(module, rank);
    EXPECT_EQ(host_value(frozen, 0), 3);
    ASSERT_EQ(ddp.buckets().size(), 1U);
    EXPECT_EQ(ddp.buckets().front().parameters, std::vector<std::string>{"a"});
    for (int step = 0; step < 2; ++step) {
      ddp.backward(ddp.forward(
          Tensor::full(rank.device, Shape{1, 1}, DType::kFloat64, 1, MemoryKind::kInputs)));
    }
    EXPECT_FALSE(frozen.grad());
  });
}

// ---------------------------------------------------------------- buffers

TEST(DdpBuffers, AreBroadcastByTheFirstForwardWithoutGradientsOnly) {
  sim_world(2)->run([](Rank& rank) {
    Generator generator(0);
    DistributedDataParallel ddp(make_batch_norm1d({rank.device, DType::kFloat64, generator}, 1),
                                rank);
    Tensor mean = ddp.module().named_buffers().front().tensor;
    const Tensor input =
        Tensor::full(rank.device, Shape{2, 1}, DType::kFloat64, 0, MemoryKind::kInputs);
    const auto mean_after_forward = [&] {
      fill_in_place(mean, rank.rank);
      ddp.module().train(false);
      ddp.forward(input);
      return host_value(mean, 0);
    };
    {
      const NoGradScope no_grad(rank.device);
      EXPECT_EQ(mean_after_forward(), 0);
      EXPECT_EQ(mean_after_forward(), rank.rank);
    }
    EXPECT_EQ(mean_after_forward(), rank.rank) << "a forward that synchronises sets the flag";
    EXPECT_EQ(mean_after_forward(), 0) << "for the next one";
  });
}

}  // namespace
}  // namespace ringside::test
