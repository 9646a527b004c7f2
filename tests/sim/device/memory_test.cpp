// Memory of simulated devices: the account, the capacity, and the blocks behind it.
#include "sim/device/memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

#include "sim/device/fixture.h"

namespace ringside::sim {
namespace {

constexpr std::size_t kMegabyte = 1'000'000;

std::size_t used(const Device& device, MemoryKind kind) {
  return device.memory().used_by_kind[static_cast<std::size_t>(kind)];
}

TEST(DeviceMemory, IsAlignedAndUsable) {
  Machine machine(1);
  for (const std::size_t bytes : {0U, 1U, 63U, 64U, 65U, 4096U, 1000003U}) {
    const Buffer buffer = machine.device(0).allocate(bytes, MemoryKind::kWorkspace);
    ASSERT_NE(buffer.storage()->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.storage()->data()) % 64, 0U);
    EXPECT_EQ(buffer.storage()->bytes(), bytes);
    std::memset(buffer.storage()->data(), 1, bytes);
  }
}

TEST(DeviceMemory, IsAccountedByKind) {
  Machine machine(1);
  Device& device = machine.device(0);
  Buffer parameters = device.allocate(100, MemoryKind::kParameters);
  {
    Buffer activations = device.allocate(50, MemoryKind::kActivations);
    const Buffer copy = activations;
    activations = {};
    EXPECT_TRUE(copy);
    EXPECT_EQ(device.memory().used, 150U);
    EXPECT_EQ(used(device, MemoryKind::kActivations), 50U);
  }
  const Buffer gradients = device.allocate(20, MemoryKind::kGradients);
  const MemoryAccount account = device.memory();
  EXPECT_EQ(account.capacity, 0U);
  EXPECT_EQ(account.used, 120U);
  EXPECT_EQ(account.peak, 150U);
  EXPECT_EQ(account.at_peak[static_cast<std::size_t>(MemoryKind::kActivations)], 50U);
  EXPECT_EQ(account.at_peak[static_cast<std::size_t>(MemoryKind::kGradients)], 0U);
  EXPECT_EQ(account.peak_by_kind[static_cast<std::size_t>(MemoryKind::kGradients)], 20U);
  EXPECT_EQ(account.peak_by_kind[static_cast<std::size_t>(MemoryKind::kActivations)], 50U);
}

// The account follows the host's program; the bytes themselves stay until the last launch has run.
TEST(DeviceMemory, LeavesTheAccountBeforeItsLastLaunchHasRun) {
  with_time_limit([] {
    Machine machine(1, {}, 100);
    std::atomic<bool> go = false;
    float seen = 0;
    Buffer buffer = machine.device(0).allocate(100, MemoryKind::kActivations);
    const DeviceArray array = buffer.array(DType::kFloat32, Shape{25});
    array.data<float>()[24] = 7;
    machine.compute(0).enqueue([&seen, &go, array](LaunchContext&) {
      while (!go) std::this_thread::yield();
      seen = array.data<float>()[24];
    });
    buffer = {};
    EXPECT_EQ(machine.device(0).memory().used, 0U);
    const Buffer next = machine.device(0).allocate(100, MemoryKind::kActivations);
    std::memset(next.storage()->data(), 0, 100);
    go = true;
    machine.compute(0).synchronize();
    EXPECT_EQ(seen, 7);
  });
}

TEST(DeviceMemory, OverItsCapacitySaysTriedUsedAndWhatWouldHaveFitted) {
  Machine machine(3, {}, 64 * kMegabyte);
  Device& device = machine.device(2);
  const Buffer parameters = device.allocate(20 * kMegabyte, MemoryKind::kParameters);
  const Buffer activations = device.allocate(40'100'000, MemoryKind::kActivations);
  const Error error = error_of([&] { device.allocate(4 * kMegabyte, MemoryKind::kActivations); });
  EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
  EXPECT_STREQ(
      error.what(),
      "device sim:2: out of memory: tried to allocate 4.000 MB for activations; 60.1 MB of "
      "64.0 MB in use (parameters 20.0 MB, activations 40.1 MB); at most 3.900 MB would "
      "have fitted");
  EXPECT_FALSE(error.hint().empty());
  EXPECT_EQ(device.memory().used, 60'100'000U);
  EXPECT_EQ(device.memory().peak, 60'100'000U);
  const Buffer fits = device.allocate(3'900'000, MemoryKind::kActivations);
  EXPECT_EQ(device.memory().used, 64 * kMegabyte);
}

TEST(DeviceMemory, MoreThanTheMachineHasIsAnErrorToo) {
  Machine machine(1);
  for (const std::size_t bytes : {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 60U}) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    continue;
#endif
    EXPECT_EQ(error_of([&] { machine.device(0).allocate(bytes, MemoryKind::kInputs); }).kind(),
              ErrorKind::kOutOfMemory);
  }
  EXPECT_EQ(machine.device(0).memory().used, 0U);
}

TEST(DeviceMemory, BuffersMayOutliveDeviceAndEngine) {
  Buffer buffer;
  {
    Machine machine(1);
    buffer = machine.device(0).allocate(1000, MemoryKind::kOutputs);
  }
  std::memset(buffer.storage()->data(), 1, 1000);
  const auto values = buffer.array(DType::kInt32, Shape{250}).elements<std::int32_t>();
  EXPECT_TRUE(
      std::all_of(values.begin(), values.end(), [](int value) { return value == 0x01010101; }));
}

TEST(BlockCache, GivesTheSameBlockAgain) {
  BlockCache cache;
  void* block = cache.take(1000);
  cache.give_back(block, 1000);
  EXPECT_EQ(cache.kept(), 1024U);
  EXPECT_EQ(cache.take(961), block);
  EXPECT_EQ(cache.kept(), 0U);
  cache.give_back(block, 961);
}

TEST(BlockCache, KeepsNoMoreThanWasEverTaken) {
  BlockCache cache;
  for (std::size_t bytes = 64; bytes < 64 * 200; bytes += 64) {
    cache.give_back(cache.take(bytes), bytes);
    EXPECT_LE(cache.kept(), bytes);
  }
}

TEST(BlockCache, LargeBlocksBeginAtAHugePage) {
  constexpr std::size_t kHugePage = 2U << 20U;
  BlockCache cache;
  for (const std::size_t bytes : {2 * kHugePage, 2 * kHugePage + 1, 5 * kHugePage - 64}) {
    void* block = cache.take(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % kHugePage, 0U);
    std::memset(block, 1, bytes);
    cache.give_back(block, bytes);
  }
}

TEST(BlockCache, MayBeUsedFromManyThreads) {
  BlockCache cache;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < 2000; ++i) {
        const std::size_t bytes = 64 * (i % 7 + 1);
        void* block = cache.take(bytes);
        std::memset(block, 1, bytes);
        cache.give_back(block, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.kept(), 4U * 7 * 64);
}

}  // namespace
}  // namespace ringside::sim
