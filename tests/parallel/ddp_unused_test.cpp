// DistributedDataParallel's parameters that get no gradient, and graphs that do not change.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ddp_corners.h"

namespace ringside::test {
namespace {

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

}  // namespace
}  // namespace ringside::test
