// The cuda world on real GPUs. Skips, with the reason, where there is none or too few.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/cuda_world.h"
#include "ringside/error.h"
#include "ringside/kernels.h"

namespace ringside {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A tensor without autograd: an accounted buffer and the array in it.
template <typename T>
struct Data {
  Data(Device& on, DType dtype, std::size_t count)
      : device(on),
        buffer(on.allocate(count * sizeof(T), MemoryKind::kBuckets)),
        array(buffer.array(dtype, Shape{static_cast<std::int64_t>(count)})) {}

  void write(std::vector<T> values, Stream& stream) const {
    OpInfo info;
    info.kind = OpKind::kCopy;
    info.name = "copy-host-to-device";
    stream.submit(info, [to = array, values = std::move(values)](LaunchContext& context) {
      context.kernels.copy_from_host(context, to, values.data());
    });
  }
  std::vector<T> read(Stream& stream) const {
    std::vector<T> values(array.count());
    OpInfo info;
    info.kind = OpKind::kCopy;
    info.name = "copy-device-to-host";
    stream.submit(info, [from = array, to = values.data()](LaunchContext& context) {
      context.kernels.copy_to_host(context, to, from);
    });
    stream.synchronize();
    return values;
  }

  Device& device;
  Buffer buffer;
  DeviceArray array;
};

void fill(Stream& stream, const DeviceArray& array, double value) {
  OpInfo info;
  info.name = "fill";
  stream.submit(info, [array, value](LaunchContext& context) {
    context.kernels.fill(context, array, value);
  });
}

/// A world of `size` GPUs, or null after marking the test as skipped.
std::unique_ptr<World> open_or_skip(int size, std::size_t capacity, std::string& why_not) {
  WorldOptions options;
  options.size = size;
  options.memory_capacity = capacity;
  try {
    return open_cuda_world(options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnavailable) throw;
    why_not = error.what();
    return nullptr;
  }
}

class OneGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    world_ = open_or_skip(1, 1 << 24, why_not);
    if (!world_) GTEST_SKIP() << why_not;
  }
  Device& device() const { return world_->device(0); }
  Stream& compute() const { return device().compute(); }

  template <typename T>
  void expect_filled(DType dtype, double value) const {
    const Data<T> data(device(), dtype, 100'003);
    fill(compute(), data.array, value);
    EXPECT_EQ(data.read(compute()), std::vector<T>(100'003, static_cast<T>(value)));
  }

  std::unique_ptr<World> world_;
};

TEST_F(OneGpu, HasANameAndRuns) {
  EXPECT_EQ(world_->backend(), "cuda");
  EXPECT_TRUE(device().executes());
  EXPECT_TRUE(contains(device().name(), "cuda:0 (")) << device().name();
}

TEST_F(OneGpu, FillsEveryDtype) {
  expect_filled<float>(DType::kFloat32, 1.5);
  expect_filled<double>(DType::kFloat64, -0.1);
  expect_filled<std::int32_t>(DType::kInt32, -7);
  expect_filled<std::int64_t>(DType::kInt64, 1e12);
}

TEST_F(OneGpu, CopiesWholeArraysAndBlocksOfRows) {
  const Data<std::int32_t> matrix(device(), DType::kInt32, 6);  // 2 rows of 3
  const Data<std::int32_t> right(device(), DType::kInt32, 4);   // its columns 1 and 2
  const Data<std::int32_t> copied(device(), DType::kInt32, 6);
  matrix.write({1, 2, 3, 4, 5, 6}, compute());
  compute().enqueue([&](LaunchContext& context) {
    context.kernels.copy(context, copied.array, matrix.array);
    context.kernels.copy_rows(context, right.array, 0, 8, matrix.array, 4, 12, 8, 2);
  });
  EXPECT_EQ(copied.read(compute()), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(right.read(compute()), (std::vector<std::int32_t>{2, 3, 5, 6}));
}

TEST_F(OneGpu, AStreamWaitsForAnEventOfAnother) {
  const Data<float> data(device(), DType::kFloat32, 1 << 20);
  Stream& copy = device().stream(StreamKind::kCopy);
  for (int i = 1; i <= 20; ++i) fill(compute(), data.array, i);
  const auto filled = compute().record();
  copy.wait(filled);
  EXPECT_EQ(data.read(copy), std::vector<float>(1 << 20, 20.0F));
  EXPECT_TRUE(filled->done());
}

TEST_F(OneGpu, MemoryIsAccountedAndComesBackWhileWorkIsInFlight) {
  for (int i = 0; i < 200; ++i) {
    const Data<float> data(device(), DType::kFloat32, 1 << 20);
    fill(compute(), data.array, i);
    EXPECT_EQ(device().memory().used, std::size_t{1} << 22);
  }
  EXPECT_EQ(device().memory().used, 0U);
  EXPECT_EQ(device().memory().peak, std::size_t{1} << 22);
  try {
    device().allocate((1 << 24) + 1, MemoryKind::kWorkspace);
    ADD_FAILURE() << "more than the capacity was given";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory) << error.what();
  }
}

TEST_F(OneGpu, ReducesAndBroadcastsAlone) {
  world_->run([](Rank& rank) {
    Stream& stream = rank.device.stream(StreamKind::kCommunication);
    const Data<float> from(rank.device, DType::kFloat32, 5);
    const Data<float> to(rank.device, DType::kFloat32, 5);
    fill(stream, from.array, 3);
    rank.communicator.all_reduce(from.array, to.array, 5, ReduceOp::kAvg, stream);
    rank.communicator.broadcast(to.array, to.array, 5, 0, stream).synchronize();
    EXPECT_EQ(to.read(stream), std::vector<float>(5, 3.0F));
  });
}

class TwoGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    world_ = open_or_skip(2, 0, why_not);
    if (!world_) GTEST_SKIP() << why_not;
  }

  template <typename T>
  void expect_reduced(Rank& rank, DType dtype, ReduceOp op, T expected) const {
    Stream& stream = rank.device.stream(StreamKind::kCommunication);
    const Data<T> data(rank.device, dtype, 1001);
    fill(stream, data.array, rank.rank == 0 ? 2 : 6);
    rank.communicator.all_reduce(data.array, data.array, 1001, op, stream);
    EXPECT_EQ(data.read(stream), std::vector<T>(1001, expected)) << to_string(op);
  }
  template <typename T>
  void expect_all_reductions(Rank& rank, DType dtype) const {
    expect_reduced<T>(rank, dtype, ReduceOp::kSum, 8);
    expect_reduced<T>(rank, dtype, ReduceOp::kAvg, 4);
    expect_reduced<T>(rank, dtype, ReduceOp::kMin, 2);
    expect_reduced<T>(rank, dtype, ReduceOp::kMax, 6);
  }

  std::unique_ptr<World> world_;
};

TEST_F(TwoGpus, AllReduceEveryDtypeAndOperation) {
  world_->run([&](Rank& rank) {
    expect_all_reductions<float>(rank, DType::kFloat32);
    expect_all_reductions<double>(rank, DType::kFloat64);
    expect_all_reductions<std::int32_t>(rank, DType::kInt32);
    expect_all_reductions<std::int64_t>(rank, DType::kInt64);
  });
}

TEST_F(TwoGpus, OneThreadBroadcastsInAGroupAndCopiesBetweenThem) {
  world_->drive([&] {
    const Data<float> first(world_->device(0), DType::kFloat32, 64);
    const Data<float> second(world_->device(1), DType::kFloat32, 64);
    const Data<float> third(world_->device(1), DType::kFloat32, 64);
    fill(world_->device(0).compute(), first.array, 5);
    const auto communicators = world_->local_communicators();
    {
      const GroupScope group(communicators);
      communicators[0]->broadcast(first.array, first.array, 64, 0, world_->device(0).compute());
      communicators[1]->broadcast({}, second.array, 64, 0, world_->device(1).compute());
    }
    EXPECT_EQ(second.read(world_->device(1).compute()), std::vector<float>(64, 5.0F));
    world_->device(1).compute().wait(world_->device(0).compute().record());
    world_->device(1).compute().enqueue(
        [&](LaunchContext& context) { context.kernels.copy(context, third.array, first.array); });
    EXPECT_EQ(third.read(world_->device(1).compute()), std::vector<float>(64, 5.0F));
  });
}

TEST_F(TwoGpus, ARankThatFailsIsReportedAndTheWorldWorksAgain) {
  try {
    world_->run([](Rank& rank) {
      if (rank.rank == 1) throw Error(ErrorKind::kInvalidInput, "broken data");
      const Data<float> data(rank.device, DType::kFloat32, 8);
      rank.communicator.all_reduce(data.array, data.array, 8, ReduceOp::kSum,
                                   rank.device.compute());
    });
    ADD_FAILURE() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), std::string("rank 1: broken data"));
  }
  world_->run([&](Rank& rank) { expect_reduced<float>(rank, DType::kFloat32, ReduceOp::kSum, 8); });
}

}  // namespace
}  // namespace ringside
