// DistributedDataParallel's gradients as views of buckets, and communication hooks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ddp_corners.h"

namespace ringside::test {
namespace {

// ---------------------------------------------------------------- views

TEST(DdpBucketView, GradientsLiveInTheBucketAndSurviveTheRebuild) {
  sim_world(2)->run([](Rank& rank) {
    DdpWrapperOptions options;
    options.gradient_as_bucket_view = true;
    options.first_bucket_bytes = 1;
    options.bucket_cap_bytes = 1;
    Wrapped wrapped(rank, options);
    wrapped.step(rank.rank + 1, true);
    const auto storage = [&](std::size_t i) {
      return wrapped.parameter(i).grad().buffer().storage();
    };
    EXPECT_EQ(storage(0), storage(1)) << "one bucket";
    wrapped.step(rank.rank + 1, true);  // on top of the first, which moves to the new buckets
    EXPECT_NE(storage(0), storage(1));
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), 3);
    EXPECT_DOUBLE_EQ(wrapped.gradient(1), 3);
  });
}

TEST(DdpBucketView, AnotherGradientInItsPlaceIsAnError) {
  const std::string message = error_of(1, [](Rank& rank) {
    DdpWrapperOptions options;
    options.gradient_as_bucket_view = true;
    options.communication_hook = [](const GradientBucket& bucket, Rank&) -> ReducedBucket {
      Tensor parameter = bucket.parameters.front();
      parameter.set_grad(Tensor::full(parameter.device(), parameter.shape(), parameter.dtype(), 0,
                                      MemoryKind::kGradients));
      return {bucket.values, Work()};
    };
    Wrapped(rank, options).step(1, true);
  });
  expect_has(message, "not the expected DDP bucket view");
}

// ---------------------------------------------------------------- hooks

/// The gradient of a in float32, rank r's own being values[r].
double hooked(const CommunicationHook& hook, const std::vector<double>& values) {
  double result = 0;
  sim_world(static_cast<int>(values.size()))->run([&](Rank& rank) {
    DdpWrapperOptions options;
    options.communication_hook = hook;
    const auto module = std::make_shared<Branches>(rank.device, DType::kFloat32);
    DistributedDataParallel ddp(module, rank, options);
    ddp.backward(ddp.forward(Tensor::full(rank.device, Shape{1, 1}, DType::kFloat32,
                                          values[static_cast<std::size_t>(rank.rank)],
                                          MemoryKind::kInputs)));
    if (rank.rank == 0) result = host_value(module->named_parameters()[0].tensor.grad(), 0);
  });
  return result;
}

TEST(DdpHook, AllReduceDividesWhereTheBuiltInPathMultipliesByTheReciprocal) {
  const double value = 1.2999999523162842;
  EXPECT_EQ(hooked(all_reduce_hook(), {value, 0, 0}), double{0.4333333F});
  EXPECT_EQ(hooked({}, {value, 0, 0}), double{0.43333334F});
}

TEST(DdpHook, CompressionRoundsBeforeTheSum) {
  EXPECT_EQ(hooked(fp16_compress_hook(), {0.1, 0.2}), 0.14990234375);
  EXPECT_EQ(hooked(bf16_compress_hook(), {1.001, 1.001}), 1.0);
}

TEST(DdpHook, OneThatOnlySumsTrainsWithWTimesTheGradient) {
  const CommunicationHook sum = [](const GradientBucket& bucket, Rank& rank) -> ReducedBucket {
    return {bucket.values, all_reduce_in_place(rank, bucket.values)};
  };
  EXPECT_EQ(hooked(sum, {1, 2, 3}), 6);
}

TEST(DdpHook, SeesEveryBucketAndMayGiveAnotherTensor) {
  sim_world(1)->run([](Rank& rank) {
    std::vector<std::string> seen;
    DdpWrapperOptions options;
    options.find_unused_parameters = true;  // two buckets from the beginning
    options.first_bucket_bytes = 1;
    options.bucket_cap_bytes = 1;
    options.communication_hook = [&](const GradientBucket& bucket, Rank& own) -> ReducedBucket {
      seen.push_back(std::string(bucket.parameters.front().name()) + " of bucket " +
                     std::to_string(bucket.index) + (bucket.is_last ? ", the last" : ""));
      return {Tensor::full(own.device, bucket.values.shape(), bucket.values.dtype(), 7,
                           MemoryKind::kBuckets),
              Work()};
    };
    Wrapped wrapped(rank, options);
    wrapped.step(1, true);
    EXPECT_EQ(seen, (std::vector<std::string>{"b of bucket 0", "a of bucket 1, the last"}));
    EXPECT_EQ(wrapped.gradient(0), 7);
    EXPECT_EQ(wrapped.gradient(1), 7);
  });
}

TEST(DdpHook, AWrongResultIsNamed) {
  const std::string message = error_of(1, [](Rank& rank) {
    DdpWrapperOptions options;
    options.communication_hook = [](const GradientBucket&, Rank&) { return ReducedBucket{}; };
    Wrapped(rank, options).step(1, true);
  });
  expect_has(message, "for bucket 0 it gave nothing, but the bucket is float64 2");
}

TEST(DdpHook, ThereIsOnlyOne) {
  expect_has(error_of(1,
                      [](Rank& rank) {
                        Wrapped wrapped(rank);
                        wrapped.ddp.register_communication_hook(all_reduce_hook());
                        wrapped.ddp.register_communication_hook(all_reduce_hook());
                      }),
             "register_comm_hook can only be called once");
}

// PyTorch 1.13.1 takes it without a word.
TEST(DdpHook, AfterABackwardItIsUsedFromTheNextOneOn) {
  sim_world(2)->run([](Rank& rank) {
    std::vector<std::string> warnings;
    DdpWrapperOptions options;
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    Wrapped wrapped(rank, options);
    wrapped.step(rank.rank + 1, true);
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), 1.5);
    wrapped.ddp.register_communication_hook(
        [](const GradientBucket& bucket, Rank& own) -> ReducedBucket {
          return {bucket.values, all_reduce_in_place(own, bucket.values)};
        });
    ASSERT_EQ(warnings.size(), 1U);
    expect_has(warnings.front(), "should be registered before calling backward");
    wrapped.zero_grad();
    wrapped.step(rank.rank + 1, true);
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), 3);
  });
}

}  // namespace
}  // namespace ringside::test
