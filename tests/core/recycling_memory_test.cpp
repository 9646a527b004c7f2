#include "core/recycling_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace ringside {
namespace {

TEST(RecyclingMemory, GivesABlockThatCameBackToTheNextOfItsSize) {
  const RecyclingMemory::Owner memory = RecyclingMemory::make();
  void* first = memory->allocate(100);
  void* second = memory->allocate(100);
  EXPECT_NE(first, second);
  memory->deallocate(first, 100);
  EXPECT_EQ(memory->allocate(128), first);  // both take 128 bytes
  memory->deallocate(first, 128);
  void* small = memory->allocate(64);
  EXPECT_NE(small, first);
  memory->deallocate(small, 64);
  memory->deallocate(second, 100);
}

TEST(RecyclingMemory, HasBlocksOfEverySizeAndAlignment) {
  const RecyclingMemory::Owner memory = RecyclingMemory::make();
  for (const std::size_t bytes : {1UL, 64UL, 65UL, 8192UL, 8193UL, 100000UL}) {
    for (const std::size_t alignment : {1UL, 16UL, 64UL}) {
      auto* block = static_cast<std::byte*>(memory->allocate(bytes, alignment));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
      block[0] = block[bytes - 1] = std::byte{1};
      memory->deallocate(block, bytes, alignment);
    }
  }
}

TEST(RecyclingMemory, LivesUntilTheLastBlockHasComeBack) {
  std::shared_ptr<int> last;
  {
    const RecyclingMemory::Owner memory = RecyclingMemory::make();
    const std::pmr::polymorphic_allocator<> objects(memory.get());
    last = std::allocate_shared<int>(objects, 5);
    std::allocate_shared<int>(objects, 6).reset();
  }
  EXPECT_EQ(*last, 5);
  last.reset();  // the sanitizers say whether all is gone, once
}

TEST(RecyclingMemory, LivesUntilTheLastLargeBlockHasComeBack) {
  struct Large {
    std::array<int, 4096> numbers{};
  };
  std::shared_ptr<Large> last;
  {
    const RecyclingMemory::Owner memory = RecyclingMemory::make();
    last = std::allocate_shared<Large>(std::pmr::polymorphic_allocator<>(memory.get()));
  }
  EXPECT_EQ(last->numbers.back(), 0);
  last.reset();
}

TEST(RecyclingMemory, TakesBlocksBackOnAnyThread) {
  const RecyclingMemory::Owner memory = RecyclingMemory::make();
  const std::pmr::polymorphic_allocator<> objects(memory.get());
  constexpr int kThreads = 4;
  constexpr int kObjects = 2000;
  std::vector<std::vector<std::shared_ptr<int>>> made(kThreads);
  const auto on_all = [](const auto& work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back([&work, t] { work(t); });
    for (std::thread& thread : threads) thread.join();
  };
  for (int round = 0; round < 3; ++round) {
    on_all([&](int t) {
      auto& own = made[static_cast<std::size_t>(t)];
      own.clear();
      for (int i = 0; i < kObjects; ++i) own.push_back(std::allocate_shared<int>(objects, i));
    });
    std::set<const int*> places;
    for (const auto& list : made) {
      for (int i = 0; i < kObjects; ++i) {
        EXPECT_EQ(*list[static_cast<std::size_t>(i)], i);
        places.insert(list[static_cast<std::size_t>(i)].get());
      }
    }
    EXPECT_EQ(places.size(), static_cast<std::size_t>(kThreads * kObjects));
    std::rotate(made.begin(), made.begin() + 1, made.end());
  }
}

}  // namespace
}  // namespace ringside
