#include "core/recycled_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace ringside {
namespace {

TEST(RecycledMemory, HandsOutWhatWasGivenBack) {
  RecycledMemory memory;
  void* first = memory.take(48);
  void* second = memory.take(48);
  EXPECT_NE(first, second);
  memory.give_back(first, 48);
  EXPECT_EQ(memory.take(48), first);
  memory.give_back(first, 48);
  memory.give_back(second, 48);
}

TEST(RecycledMemory, KeepsOneSizeAlone) {
  RecycledMemory memory;
  memory.give_back(memory.take(48), 48);
  void* other = memory.take(4096);
  memory.give_back(other, 4096);
  void* small = memory.take(1);
  memory.give_back(small, 1);
}

// An object outlives whoever made it.
TEST(RecycledMemory, LivesAsLongAsItsObjects) {
  auto memory = std::make_shared<RecycledMemory>();
  const std::shared_ptr<int> kept = make_recycled<int>(memory, 7);
  memory.reset();
  EXPECT_EQ(*kept, 7);
}

TEST(RecycledMemory, ServesSeveralThreads) {
  const auto memory = std::make_shared<RecycledMemory>();
  const auto use = [&] {
    for (int i = 0; i < 10000; ++i) {
      std::array<std::shared_ptr<int>, 3> numbers;
      for (int n = 0; n < 3; ++n)
        numbers[static_cast<std::size_t>(n)] = make_recycled<int>(memory, i + n);
      for (int n = 0; n < 3; ++n) ASSERT_EQ(*numbers[static_cast<std::size_t>(n)], i + n);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(use);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ringside
