// The helper by which every other test runs its ranks must itself report what goes wrong.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "support/ranks.h"

namespace ringside::test {
namespace {

TEST(RunRanks, CallsEveryRankOnce) {
  std::atomic<int> sum = 0;
  run_ranks(5, [&](int rank) { sum += 1 << rank; });
  EXPECT_EQ(sum, 31);
}

TEST(RunRanks, RethrowsTheLowestFailingRanksError) {
  try {
    run_ranks(4, [](int rank) {
      if (rank >= 2) throw std::runtime_error("broken");
    });
    FAIL() << "no error came out";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "rank 2: broken");
  }
}

TEST(RunRanksDeathTest, NamesTheRanksThatHang) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_ranks(
                  2,
                  [](int rank) {
                    if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(20));
                  },
                  std::chrono::seconds(1)),
              testing::ExitedWithCode(1), "still running: rank 1");
}

}  // namespace
}  // namespace ringside::test
