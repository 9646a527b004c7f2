#include "core/brief_mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace ringside {
namespace {

TEST(BriefMutex, LetsOneInAtATime) {
  BriefMutex mutex;
  long long count = 0;
  std::vector<std::thread> threads;
  constexpr int kThreads = 4;
  constexpr int kTimes = 20000;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTimes; ++i) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, static_cast<long long>(kThreads) * kTimes);
}

TEST(BriefMutex, IsWaitedForHoweverLongItIsHeld) {
  BriefMutex mutex;
  bool released = false;
  mutex.lock();
  std::thread waiting([&] {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(released);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  released = true;
  mutex.unlock();
  waiting.join();
}

}  // namespace
}  // namespace ringside
