// Ranks meet before NCCL is called: nobody waits for a rank that does not come, and nothing is
// enqueued unless all agree.
#include "backends/cuda/rendezvous.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/error_text.h"

namespace ringside::cuda {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

RankCall call_of(int rank, int ranks, std::size_t count) {
  RankCall call;
  call.rank = rank;
  call.pending.call.operation = Operation::kAllReduce;
  call.pending.call.count = count;
  call.signature = signature_of(call.pending.call, rank, ranks, {});
  return call;
}

/// Three ranks, and a book of what would have gone to NCCL.
class RendezvousTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  void meet(int rank, std::size_t count) {
    const std::array<RankCall, 1> calls{call_of(rank, kRanks, count)};
    rendezvous_.meet(calls);
  }

  /// A thread per rank; the result is what each rank failed with ("" = it did not).
  std::vector<std::string> run(const std::function<void(int)>& function) {
    std::vector<std::string> failures(kRanks);
    std::vector<std::thread> threads;
    rendezvous_.begin_run();
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] {
        Failure failure;
        try {
          function(rank);
        } catch (...) {
          failure = to_failure(std::current_exception());
        }
        rendezvous_.end_rank(rank, failure);
        failures[static_cast<std::size_t>(rank)] = failure ? failure->what() : "";
      });
    }
    for (std::thread& thread : threads) thread.join();
    rendezvous_.end_run();
    return failures;
  }

  std::vector<std::vector<std::size_t>> enqueued_;  // the counts of each NCCL group
  bool nccl_fails_ = false;
  Rendezvous rendezvous_{CommunicatorName{0, {0, 1, 2}}, [this](const Rendezvous::Meetings& all) {
                           if (nccl_fails_) throw Error(ErrorKind::kDevice, "NCCL failed");
                           enqueued_.emplace_back();
                           for (const auto& meeting : all) {
                             for (const PendingCall& pending : meeting->calls) {
                               EXPECT_EQ(pending.call.count, meeting->calls[0].call.count);
                             }
                             enqueued_.back().push_back(meeting->calls[0].call.count);
                           }
                         }};
};

TEST_F(RendezvousTest, EveryCallIsEnqueuedOnceWhenAllHaveCome) {
  const auto failures = run([&](int rank) {
    for (std::size_t count = 1; count <= 100; ++count) meet(rank, count);
  });
  EXPECT_EQ(failures, (std::vector<std::string>(kRanks)));
  ASSERT_EQ(enqueued_.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(enqueued_[i], (std::vector<std::size_t>{i + 1}));
  EXPECT_EQ(rendezvous_.upcoming(1), 101);
}

TEST_F(RendezvousTest, TheCallsOfAGroupGoTogether) {
  const auto failures = run([&](int rank) {
    const std::array<RankCall, 2> calls{call_of(rank, kRanks, 5), call_of(rank, kRanks, 6)};
    rendezvous_.meet(calls);
  });
  EXPECT_EQ(failures, (std::vector<std::string>(kRanks)));
  EXPECT_EQ(enqueued_, (std::vector<std::vector<std::size_t>>{{5, 6}}));
}

TEST_F(RendezvousTest, OneThreadDrivesAllRanksInOneGroup) {
  const std::array<RankCall, 3> calls{call_of(0, kRanks, 7), call_of(1, kRanks, 7),
                                      call_of(2, kRanks, 7)};
  rendezvous_.meet(calls);
  EXPECT_EQ(enqueued_, (std::vector<std::vector<std::size_t>>{{7}}));
}

TEST_F(RendezvousTest, OneThreadWithoutAGroupIsToldSoAtOnce) {
  const std::string text = test::error_text(ErrorKind::kDeadlock, [&] { meet(0, 7); });
  EXPECT_TRUE(contains(text, "rank 0 waits in all-reduce(count=7")) << text;
  EXPECT_TRUE(contains(text, "ranks 1, 2 have not called it")) << text;
  EXPECT_TRUE(enqueued_.empty());

  const std::array<RankCall, 3> calls{call_of(0, kRanks, 7), call_of(1, kRanks, 7),
                                      call_of(2, kRanks, 7)};
  rendezvous_.meet(calls);
  EXPECT_EQ(enqueued_.size(), 1U) << "a good call afterwards works";
}

TEST_F(RendezvousTest, AMismatchIsThrownToEveryRankAndNothingIsEnqueued) {
  auto failures = run([&](int rank) { meet(rank, rank == 2 ? 8 : 9); });
  for (const std::string& failure : failures) {
    EXPECT_TRUE(contains(failure, "count=9")) << failure;
    EXPECT_TRUE(contains(failure, "rank 2 called all-reduce(count=8")) << failure;
  }
  EXPECT_TRUE(enqueued_.empty());
  failures = run([&](int rank) { meet(rank, 4); });
  EXPECT_EQ(failures, (std::vector<std::string>(kRanks)));
  EXPECT_EQ(enqueued_, (std::vector<std::vector<std::size_t>>{{4}}));
}

TEST_F(RendezvousTest, ARankThatHasEndedIsNotWaitedFor) {
  auto failures = run([&](int rank) {
    meet(rank, 1);
    if (rank != 1) meet(rank, 2);
  });
  EXPECT_EQ(failures[1], "");
  for (const int rank : {0, 2}) {
    const std::string& failure = failures[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(contains(failure, "waits in all-reduce(count=2")) << failure;
    EXPECT_TRUE(contains(failure, "rank 1 has ended")) << failure;
  }
  failures = run([&](int rank) { meet(rank, 3); });
  EXPECT_EQ(failures, (std::vector<std::string>(kRanks)));
  EXPECT_EQ(enqueued_, (std::vector<std::vector<std::size_t>>{{1}, {3}}));
}

TEST_F(RendezvousTest, ARankThatHasFailedIsNamedWithItsReason) {
  const auto failures = run([&](int rank) {
    if (rank == 1) throw Error(ErrorKind::kInvalidInput, "broken data");
    meet(rank, 2);
  });
  EXPECT_EQ(failures[1], "broken data");
  EXPECT_TRUE(contains(failures[0], "rank 1 has failed: broken data")) << failures[0];
  EXPECT_TRUE(contains(failures[2], "rank 1 has failed: broken data")) << failures[2];
}

TEST_F(RendezvousTest, WhatNcclSaysIsThrownToEveryRank) {
  nccl_fails_ = true;
  const auto failures = run([&](int rank) { meet(rank, 2); });
  EXPECT_EQ(failures, (std::vector<std::string>(kRanks, "NCCL failed")));
}

}  // namespace
}  // namespace ringside::cuda
