// Batches come in order, whole, and by the ops that a trace should show.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "ringside/data.h"
#include "sim/device/engine.h"
#include "support/error_text.h"
#include "support/inline_device.h"
#include "support/time_limit.h"
#include "tensor/cpu_kernels.h"

namespace ringside {
namespace {

using test::with_time_limit;
using ::testing::ElementsAre;

/// Sample i is (i, i + 0.25, i + 0.5) with target 2 i.
Dataset counting(std::int64_t size) {
  Dataset dataset{"counting", Shape{1, 3}, 2 * size, {}, {}};
  for (std::int64_t i = 0; i < size; ++i) {
    for (float part : {0.0F, 0.25F, 0.5F}) {
      dataset.samples.push_back(static_cast<float>(i) + part);
    }
    dataset.targets.push_back(2 * i);
  }
  return dataset;
}

/// Every op as "phase thread stream: name label bytes", and "after" which op; ids count from 1.
class Listener final : public OpListener {
 public:
  OpId on_submit(Stream& stream, const OpInfo& info) override {
    note(stream.device(), to_string(stream.kind()), info);
    return static_cast<OpId>(ops.size());
  }
  void on_enqueued(Stream&, OpId, const OpInfo&) override {}
  OpId on_host(Device& device, const OpInfo& info) override {
    note(device, to_string(info.kind), info);
    return static_cast<OpId>(ops.size());
  }
  std::vector<std::string> ops;

 private:
  void note(const Device& device, std::string_view where, const OpInfo& info) {
    ops.push_back(fmt::format("{} {} {}: {} {} {}", to_string(device.context().phase),
                              device.context().host_thread, where, info.name, info.label,
                              info.bytes));
    if (info.awaited != kNoOp) ops.back() += fmt::format(" after {}", info.awaited);
  }
};

class LoaderTest : public ::testing::Test {
 protected:
  explicit LoaderTest(const sim::EngineOptions& options = {})
      : engine_(options), device_(engine_.make_device(0, "sim:0", 0, *kernels_)) {}

  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels();
  sim::Engine engine_;
  std::unique_ptr<Device> device_;
};

class LoaderInOrder : public LoaderTest, public ::testing::WithParamInterface<int> {
 protected:
  LoaderInOrder() : LoaderTest({.workers = 2, .random_delay_us = 200, .delay_seed = 1}) {}
};

TEST_P(LoaderInOrder, WhateverTheNumberOfWorkers) {
  with_time_limit([&] {
    const Dataset dataset = counting(23);
    const std::vector<std::int64_t> indices =
        distributed_sampler(dataset.size(), 1, 0, 0, SamplerOptions{});
    for (const bool pinned : {false, true}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        LoaderOptions options{.batch_size = 4, .workers = GetParam(), .dtype = dtype};
        options.pin_memory = options.non_blocking = pinned;
        const auto loader = make_loader(dataset, indices, *device_, options);
        EXPECT_EQ(loader->batches(), 6);
        std::vector<double> inputs;
        std::vector<double> targets;
        Batch batch;
        for (std::int64_t left = 23; loader->next(batch); left -= 4) {
          EXPECT_EQ(batch.rows(), std::min<std::int64_t>(left, 4));
          EXPECT_EQ(batch.inputs.shape(), (Shape{batch.rows(), 1, 3}));
          EXPECT_EQ(batch.inputs.dtype(), dtype);
          EXPECT_EQ(batch.targets.dtype(), DType::kInt64);
          for (double value : host_values(batch.inputs)) inputs.push_back(value);
          for (double value : host_values(batch.targets)) targets.push_back(value);
        }
        EXPECT_FALSE(loader->next(batch));
        std::vector<double> expected_inputs;
        std::vector<double> expected_targets;
        for (std::int64_t index : indices) {
          const auto i = static_cast<double>(index);
          expected_inputs.insert(expected_inputs.end(), {i, i + 0.25, i + 0.5});
          expected_targets.push_back(2 * i);
        }
        EXPECT_EQ(inputs, expected_inputs);
        EXPECT_EQ(targets, expected_targets);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Workers, LoaderInOrder, ::testing::Values(0, 1, 2, 5));

TEST_F(LoaderTest, CountsBatches) {
  const Dataset dataset = counting(10);
  const auto batches = [&](std::size_t indices, std::int64_t size, bool drop_last) {
    return make_loader(dataset, std::vector<std::int64_t>(indices, 1), *device_,
                       {.batch_size = size, .drop_last = drop_last, .workers = 1})
        ->batches();
  };
  EXPECT_EQ(batches(10, 4, false), 3);
  EXPECT_EQ(batches(10, 4, true), 2);
  EXPECT_EQ(batches(8, 4, false), 2);
  EXPECT_EQ(batches(3, 4, true), 0);
  EXPECT_EQ(batches(0, 4, false), 0);
  EXPECT_EQ(batches(3, std::int64_t{1} << 62, false), 1);
}

TEST_F(LoaderTest, TracesWhatMoves) {
  with_time_limit([&] {
    const Dataset dataset = counting(4);
    const auto traced = [&](bool pin, bool non_blocking, int workers) {
      Listener listener;
      device_->set_listener(&listener);
      Batch batch;
      LoaderOptions options{.batch_size = 2, .workers = workers};
      options.pin_memory = pin;
      options.non_blocking = non_blocking;
      make_loader(dataset, {3, 1}, *device_, options)->next(batch);
      device_->synchronize();
      device_->set_listener(nullptr);
      return listener.ops;
    };
    const std::vector<std::string> pageable = {
        "load loader host: host-read counting 40",
        "load main copy: copy-host-to-device input 24 after 1",
        "load main copy: copy-host-to-device targets 16",
        "load main compute: wait-event  0 after 3", "load main wait: wait-copy  0 after 3"};
    const std::vector<std::string> pinned = {"load loader host: host-read counting 40",
                                             "load loader host: pin-copy counting 40",
                                             "load main copy: copy-host-to-device input 24 after 2",
                                             "load main copy: copy-host-to-device targets 16",
                                             "load main compute: wait-event  0 after 4"};
    std::vector<std::string> pinned_blocking = pinned;
    pinned_blocking.emplace_back("load main wait: wait-copy  0 after 4");
    for (int workers : {0, 2}) {
      EXPECT_EQ(traced(false, false, workers), pageable);
      EXPECT_EQ(traced(false, true, workers), pageable) << "pageable memory blocks";
      EXPECT_EQ(traced(true, false, workers), pinned_blocking);
      EXPECT_EQ(traced(true, true, workers), pinned);
    }
    EXPECT_EQ(device_->context().phase, Phase::kSetup);
    EXPECT_EQ(device_->context().host_thread, "main");
  });
}

// The copy runs after the loader and its data set are gone; compute waits for it.
TEST_F(LoaderTest, StagingLivesUntilTheCopyHasRun) {
  with_time_limit([&] {
    std::promise<sim::Gate> reached;
    struct Keeper : sim::GateKeeper {
      explicit Keeper(std::promise<sim::Gate>& to_keep) : promise(to_keep) {}
      void reached(sim::Gate gate) override { promise.set_value(std::move(gate)); }
      std::promise<sim::Gate>& promise;
    };
    engine_.enqueue_gate(device_->stream(StreamKind::kCopy), std::make_shared<Keeper>(reached));
    Batch batch;
    {
      const Dataset dataset = counting(8);
      LoaderOptions options{.batch_size = 2, .workers = 2};
      options.pin_memory = options.non_blocking = true;
      ASSERT_TRUE(make_loader(dataset, {5, 6, 7, 0}, *device_, options)->next(batch));
    }
    Tensor sum =
        Tensor::full(*device_, batch.inputs.shape(), DType::kFloat32, 1, MemoryKind::kActivations);
    add_in_place(sum, batch.inputs);
    reached.get_future().get().complete();
    EXPECT_THAT(host_values(sum), ElementsAre(6, 6.25, 6.5, 7, 7.25, 7.5));
  });
}

TEST_F(LoaderTest, ClosesEarly) {
  with_time_limit([&] {
    const Dataset dataset = counting(100);
    const std::vector<std::int64_t> indices = distributed_sampler(100, 1, 0, 0, SamplerOptions{});
    for (int batches : {0, 1, 7}) {
      const auto loader =
          make_loader(dataset, indices, *device_, {.batch_size = 1, .workers = 3, .prefetch = 4});
      Batch batch;
      for (int i = 0; i < batches; ++i) EXPECT_TRUE(loader->next(batch));
    }
  });
}

TEST_F(LoaderTest, WhatAWorkerThrowsArrivesAtItsBatch) {
  with_time_limit([&] {
    const Dataset dataset = counting(10);
    for (int workers : {0, 1, 3}) {
      const auto loader = make_loader(dataset, {0, 1, 2, 10, 4, 5}, *device_,
                                      {.batch_size = 2, .workers = workers});
      Batch batch;
      EXPECT_TRUE(loader->next(batch));
      for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(test::error_text(ErrorKind::kInvalidArgument, [&] { loader->next(batch); }),
                  "loader: sample 10 of counting, which has 10");
      }
    }
  });
}

TEST_F(LoaderTest, OptionsOutOfRangeAreNamed) {
  const Dataset dataset = counting(1);
  const auto text = [&](const LoaderOptions& options) {
    return test::error_text(ErrorKind::kInvalidArgument,
                            [&] { make_loader(dataset, {0}, *device_, options); });
  };
  EXPECT_EQ(text({.batch_size = 0}), "batch size 0: must be at least 1");
  EXPECT_EQ(text({.workers = -1}), "loader workers -1: must be from 0 to 256");
  EXPECT_EQ(text({.workers = 1000000}), "loader workers 1000000: must be from 0 to 256");
  EXPECT_EQ(text({.workers = 1, .prefetch = 0}), "loader prefetch 0: must be from 1 to 4096");
  EXPECT_EQ(text({.dtype = DType::kInt32}), "loader dtype int32: must be float32 or float64");
}

TEST(LoaderOnMeta, GivesShapes) {
  test::InlineDevice meta(/*executes=*/false);
  const Dataset dataset = counting(5);
  const auto loader = make_loader(dataset, {0, 1, 2, 3, 4}, meta, {.batch_size = 4, .workers = 1});
  Batch batch;
  EXPECT_TRUE(loader->next(batch));
  EXPECT_TRUE(loader->next(batch));
  EXPECT_EQ(batch.inputs.shape(), (Shape{1, 1, 3}));
  EXPECT_FALSE(loader->next(batch));
}

TEST_F(LoaderTest, ATextGivesTokensAndTheNextOnes) {
  Dataset text{"text", Shape{3}, 256, {}, {}, {10, 11, 12, 13, 14, 15, 255}};
  test::InlineDevice device;
  const auto loader =
      make_loader(text, {1, 0}, device, {.batch_size = 2, .dtype = DType::kFloat64});
  Batch batch;
  ASSERT_TRUE(loader->next(batch));
  EXPECT_EQ(batch.rows(), 2);
  EXPECT_EQ(batch.inputs.dtype(), DType::kInt64);
  EXPECT_EQ(batch.inputs.shape(), (Shape{2, 3}));
  EXPECT_EQ(batch.targets.shape(), (Shape{2, 3}));
  EXPECT_THAT(host_values(batch.inputs), ElementsAre(13, 14, 15, 10, 11, 12));
  EXPECT_THAT(host_values(batch.targets), ElementsAre(14, 15, 255, 11, 12, 13));
  EXPECT_THAT(test::error_text(ErrorKind::kInvalidArgument,
                               [&] { make_loader(text, {2}, device, {})->next(batch); }),
              "loader: sample 2 of text, which has 2");
}

}  // namespace
}  // namespace ringside
