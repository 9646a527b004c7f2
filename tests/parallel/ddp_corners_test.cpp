// DistributedDataParallel's corners: unused parameters, static graphs, views, hooks, join, buffers.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ringside/error.h"
#include "toy.h"

namespace ringside::test {
namespace {

/// y = a x, and b x on top where `use_b`; one weight each.
class Branches : public Module {
 public:
  explicit Branches(Device& device, DType dtype = DType::kFloat64) {
    for (const char* name : {"a", "b"}) {
      register_parameter(
          name, Tensor::full(device, Shape{1, 1}, dtype, 1, MemoryKind::kParameters, name));
    }
  }
  Tensor forward(const Tensor& input) override {
    const Tensor y = linear(input, parameter(0), {});
    return use_b ? add(y, linear(input, parameter(1), {})) : y;
  }
  std::string describe() const override { return "Branches"; }
  std::shared_ptr<Module> shallow_copy() const override {
    return std::make_shared<Branches>(*this);
  }

  bool use_b = true;
};

struct Wrapped {
  explicit Wrapped(Rank& rank_of, const DdpWrapperOptions& options = {})
      : rank(rank_of),
        module(std::make_shared<Branches>(rank.device)),
        ddp(module, rank, options) {}

  /// The gradient of both weights is x, of b only where it is used.
  void step(double x, bool use_b) {
    module->use_b = use_b;
    ddp.backward(ddp.forward(input(x)));
  }
  Tensor input(double x) const {
    return Tensor::full(rank.device, Shape{1, 1}, DType::kFloat64, x, MemoryKind::kInputs);
  }
  Tensor parameter(std::size_t index) const { return module->named_parameters()[index].tensor; }
  double gradient(std::size_t index) const { return host_value(parameter(index).grad(), 0); }
  void zero_grad() const {
    for (const NamedTensor& entry : module->named_parameters()) {
      Tensor tensor = entry.tensor;
      tensor.set_grad({});
    }
  }

  Rank& rank;
  std::shared_ptr<Branches> module;
  DistributedDataParallel ddp;
};

std::string error_of(int ranks, const std::function<void(Rank&)>& body) {
  try {
    sim_world(ranks)->run(body);
  } catch (const Error& error) {
    return std::string(error.what()) + " hint: " + error.hint();
  }
  return "no error";
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

DdpWrapperOptions finding_unused() {
  DdpWrapperOptions options;
  options.find_unused_parameters = true;
  return options;
}

// ---------------------------------------------------------------- unused parameters

TEST(DdpUnused, WhatSomeRankUsesIsTheMeanWithZerosOfTheOthers) {
  sim_world(2)->run([](Rank& rank) {
    Wrapped wrapped(rank, finding_unused());
    wrapped.step(rank.rank + 1, rank.rank == 0);
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), 1.5);
    ASSERT_TRUE(wrapped.parameter(1).grad()) << "rank " << rank.rank;
    EXPECT_DOUBLE_EQ(wrapped.gradient(1), 0.5);
  });
}

TEST(DdpUnused, WhatNoRankUsesStaysUntouched) {
  sim_world(2)->run([](Rank& rank) {
    Wrapped wrapped(rank, finding_unused());
    wrapped.step(rank.rank + 1, false);
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), 1.5);
    EXPECT_FALSE(wrapped.parameter(1).grad());
    wrapped.zero_grad();
    wrapped.step(rank.rank + 1, true);
    EXPECT_DOUBLE_EQ(wrapped.gradient(1), 1.5);
    wrapped.step(rank.rank + 1, false);  // accumulates on a, leaves b
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), 3);
    EXPECT_DOUBLE_EQ(wrapped.gradient(1), 1.5);
  });
}

TEST(DdpUnused, AParameterUsedInsideNoSyncIsUsed) {
  sim_world(2)->run([](Rank& rank) {
    Wrapped wrapped(rank, finding_unused());
    {
      const DistributedDataParallel::NoSync no_sync(wrapped.ddp);
      wrapped.step(rank.rank + 1, true);
    }
    wrapped.step(rank.rank + 1, false);
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), 3);
    EXPECT_DOUBLE_EQ(wrapped.gradient(1), 1.5);
  });
}

TEST(DdpUnused, WithoutTheFlagBackwardIsSilentAndLocalAndTheNextForwardFails) {
  const std::string message = error_of(2, [](Rank& rank) {
    Wrapped wrapped(rank);
    wrapped.step(rank.rank + 1, false);
    EXPECT_DOUBLE_EQ(wrapped.gradient(0), rank.rank + 1) << "nothing is reduced";
    wrapped.step(1, false);
  });
  expect_has(message, "Expected to have finished reduction in the prior iteration before starting");
  expect_has(message, "Parameter indices which did not receive grad for rank");
  expect_has(message, ": 1 (b)");
  expect_has(message, "find_unused_parameters=True");
}

TEST(DdpUnused, WarnsOnceIfAllAreUsed) {
  sim_world(2)->run([](Rank& rank) {
    std::vector<std::string> warnings;
    DdpWrapperOptions options = finding_unused();
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    Wrapped wrapped(rank, options);
    for (int step = 0; step < 3; ++step) wrapped.step(1, true);
    ASSERT_EQ(warnings.size(), 1U);
    expect_has(warnings.front(), "did not find any unused parameters in the forward pass");
  });
}

TEST(DdpUnused, NeverRebuildsAndHasTwoLimitsFromTheBeginning) {
  sim_world(1)->run([](Rank& rank) {
    DdpWrapperOptions options = finding_unused();
    options.first_bucket_bytes = 1;
    options.bucket_cap_bytes = 1;
    Wrapped wrapped(rank, options);
    const auto expect_reversed = [&] {
      ASSERT_EQ(wrapped.ddp.buckets().size(), 2U);
      EXPECT_EQ(wrapped.ddp.buckets().front().parameters.front(), "b");
    };
    expect_reversed();
    for (int step = 0; step < 3; ++step) wrapped.step(1, true);
    expect_reversed();
  });
}

TEST(DdpUnused, AReplacedParameterIsNamed) {
  const std::string message = error_of(2, [](Rank& rank) {
    Wrapped wrapped(rank);
    Tensor fresh =
        Tensor::full(rank.device, Shape{1, 1}, DType::kFloat64, 1, MemoryKind::kParameters, "a");
    fresh.set_requires_grad(true);
    wrapped.module->replace_tensor("a", fresh);
    for (int step = 0; step < 2; ++step) wrapped.step(rank.rank + 1, true);
  });
  expect_has(message, "'a' was replaced after wrapping");
}

// ---------------------------------------------------------------- static graph

DdpWrapperOptions static_graph() {
  DdpWrapperOptions options;
  options.static_graph = true;
  options.first_bucket_bytes = 1;
  options.bucket_cap_bytes = 1;
  return options;
}

TEST(DdpStaticGraph, LearnsWhatIsUnusedAndRebuildsAfterTheSecondStep) {
  sim_world(2)->run([](Rank& rank) {
    Wrapped wrapped(rank, static_graph());
    const std::vector<std::size_t> buckets{1, 1, 2, 2};
    for (const std::size_t count : buckets) {
      wrapped.zero_grad();
      wrapped.module->use_b = false;
      const Tensor output = wrapped.ddp.forward(wrapped.input(rank.rank + 1));
      EXPECT_EQ(wrapped.ddp.buckets().size(), count);
      wrapped.ddp.backward(output);
      EXPECT_DOUBLE_EQ(wrapped.gradient(0), 1.5);
      EXPECT_FALSE(wrapped.parameter(1).grad());
    }
    EXPECT_EQ(wrapped.ddp.buckets().front().parameters.front(), "a");
  });
}

TEST(DdpStaticGraph, AGraphThatGrowsIsAnError) {
  const std::string message = error_of(2, [](Rank& rank) {
    Wrapped wrapped(rank, static_graph());
    wrapped.step(1, false);
    wrapped.step(1, true);
  });
  expect_has(message, "Your training graph has changed in this iteration");
  expect_has(message, "not compatible with static_graph set to True");
  expect_has(message, "(b)");
}

TEST(DdpStaticGraph, AGraphThatShrinksIsAnErrorOfTheNextForward) {
  const std::string message = error_of(2, [](Rank& rank) {
    Wrapped wrapped(rank, static_graph());
    wrapped.step(1, true);
    wrapped.step(1, false);
    wrapped.step(1, false);
  });
  expect_has(message, "Expected to have finished reduction in the prior iteration");
}

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

TEST(DdpHook, ThereIsOneAndItComesBeforeTheFirstBackward) {
  expect_has(error_of(1,
                      [](Rank& rank) {
                        Wrapped wrapped(rank);
                        wrapped.ddp.register_communication_hook(all_reduce_hook());
                        wrapped.ddp.register_communication_hook(all_reduce_hook());
                      }),
             "there can only be one");
  expect_has(error_of(1,
                      [](Rank& rank) {
                        Wrapped wrapped(rank);
                        wrapped.step(1, true);
                        wrapped.ddp.register_communication_hook(all_reduce_hook());
                      }),
             "before the first backward");
}

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
