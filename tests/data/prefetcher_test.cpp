// Workers prepare batches in any order; the loader sees them in one.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

#include "data/prefetcher.h"
#include "support/time_limit.h"

namespace ringside {
namespace {

using test::with_time_limit;

std::shared_ptr<Staging> numbered(std::int64_t batch) {
  auto staging = std::make_shared<Staging>();
  staging->targets = {batch};
  return staging;
}

TEST(Prefetcher, HandsOutInOrderWhoeverIsFirst) {
  with_time_limit([] {
    for (int workers : {1, 2, 5}) {
      Prefetcher prefetcher(workers, 4, 100, [](std::int64_t batch) {
        std::this_thread::sleep_for(std::chrono::microseconds(batch * 7919 % 300));
        return numbered(batch);
      });
      for (std::int64_t batch = 0; batch < 100; ++batch) {
        EXPECT_EQ(prefetcher.take()->targets[0], batch);
      }
    }
  });
}

TEST(Prefetcher, NeverRunsFurtherAheadThanItsWindow) {
  with_time_limit([] {
    std::atomic<std::int64_t> taken{0};
    std::atomic<std::int64_t> furthest{0};
    Prefetcher prefetcher(3, 4, 50, [&](std::int64_t batch) {
      const std::int64_t ahead = batch - taken;
      std::int64_t before = furthest;
      while (ahead > before && !furthest.compare_exchange_weak(before, ahead)) {
      }
      return numbered(batch);
    });
    for (int i = 0; i < 50; ++i) {
      if (i == 10) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++taken;
      prefetcher.take();
    }
    EXPECT_LT(furthest, 4);
  });
}

TEST(Prefetcher, StopsEarlyWithoutWaitingForMore) {
  with_time_limit([] {
    for (int takes : {0, 1, 3}) {
      std::atomic<int> prepared{0};
      {
        Prefetcher prefetcher(4, 8, 1000000, [&](std::int64_t batch) {
          ++prepared;
          return numbered(batch);
        });
        for (int i = 0; i < takes; ++i) prefetcher.take();
      }
      EXPECT_LE(prepared, takes + 8);
    }
  });
}

TEST(Prefetcher, RethrowsAndStaysAtTheFault) {
  with_time_limit([] {
    Prefetcher prefetcher(2, 4, 10, [](std::int64_t batch) {
      if (batch == 3) throw std::runtime_error("batch 3");
      return numbered(batch);
    });
    for (std::int64_t batch = 0; batch < 3; ++batch)
      EXPECT_EQ(prefetcher.take()->targets[0], batch);
    EXPECT_THROW(prefetcher.take(), std::runtime_error);
    EXPECT_THROW(prefetcher.take(), std::runtime_error);
  });
}

TEST(StagingPool, UsesBuffersAgain) {
  StagingPool pool;
  const Staging* first = pool.take().get();  // given back at once
  EXPECT_EQ(pool.take().get(), first);
  const auto held = pool.take();
  const auto other = pool.take();
  EXPECT_NE(held, other);
  EXPECT_EQ(pool.made(), 2U);
}

TEST(StagingPool, BuffersMayOutliveIt) {
  std::shared_ptr<Staging> staging;
  {
    StagingPool pool;
    staging = pool.take();
  }
  const std::weak_ptr<Staging> observed = staging;
  staging->targets = {1};
  EXPECT_EQ(staging->bytes(), sizeof(std::int64_t));
  staging.reset();
  EXPECT_TRUE(observed.expired());
}

}  // namespace
}  // namespace ringside
