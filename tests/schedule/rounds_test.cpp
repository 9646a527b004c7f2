// Schedules message by message, against tables worked out by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "ringside/error.h"
#include "ringside/schedule.h"
#include "schedule/double_tree.h"

namespace ringside {
namespace {

// "3>0 c2+": rank 3 sends chunk 2 to rank 0, which adds it.
std::string text(const Message& message) {
  return fmt::format("{}>{} {}{}", message.source, message.destination,
                     message.chunk < 0
                         ? fmt::format("[{},{})", message.range.begin, message.range.end)
                         : fmt::format("c{}", message.chunk),
                     message.action == Action::kCombine ? "+" : "");
}

std::vector<std::string> text(const Schedule& schedule) {
  std::vector<std::string> lines;
  for (const Round& round : schedule.rounds) {
    std::string line;
    for (const Message& message : round) line += (line.empty() ? "" : "  ") + text(message);
    lines.push_back(line);
  }
  return lines;
}

Schedule make(Operation operation, Algorithm algorithm, int ranks, std::size_t count,
              int root = 0) {
  ScheduleRequest request;
  request.operation = operation;
  request.algorithm = algorithm;
  request.ranks = ranks;
  request.count = count;
  request.root = root;
  return make_schedule(request);
}

using Lines = std::vector<std::string>;

TEST(RingSchedule, AllReduceIsNumberedAsNccl) {
  EXPECT_EQ(text(make(Operation::kAllReduce, Algorithm::kRing, 4, 16)),
            (Lines{"0>1 c3+  1>2 c0+  2>3 c1+  3>0 c2+", "0>1 c2+  1>2 c3+  2>3 c0+  3>0 c1+",
                   "0>1 c1+  1>2 c2+  2>3 c3+  3>0 c0+", "0>1 c0  1>2 c1  2>3 c2  3>0 c3",
                   "0>1 c3  1>2 c0  2>3 c1  3>0 c2", "0>1 c2  1>2 c3  2>3 c0  3>0 c1"}));
}

TEST(RingSchedule, DownStartsChunkKAtTheRankBelowAndEndsAtK) {
  ScheduleRequest request;
  request.ranks = 3;
  request.count = 12;
  request.algorithm = Algorithm::kRing;
  request.direction = Direction::kDown;
  EXPECT_EQ(text(make_schedule(request)),
            (Lines{"0>2 c1+  1>0 c2+  2>1 c0+", "0>2 c2+  1>0 c0+  2>1 c1+",
                   "0>2 c0  1>0 c1  2>1 c2", "0>2 c1  1>0 c2  2>1 c0"}));
}

TEST(RingSchedule, ReduceScatterAndAllGatherAreItsHalves) {
  EXPECT_EQ(text(make(Operation::kReduceScatter, Algorithm::kRing, 3, 2)),
            (Lines{"0>1 c2+  1>2 c0+  2>0 c1+", "0>1 c1+  1>2 c2+  2>0 c0+"}));
  EXPECT_EQ(text(make(Operation::kAllGather, Algorithm::kRing, 3, 2)),
            (Lines{"0>1 c0  1>2 c1  2>0 c2", "0>1 c2  1>2 c0  2>0 c1"}));
}

TEST(ChainSchedule, PiecesFollowEachOther) {
  ScheduleRequest request;
  request.operation = Operation::kBroadcast;
  request.ranks = 4;
  request.root = 2;
  request.count = 5;
  request.pieces = 2;
  const Schedule schedule = make_schedule(request);
  EXPECT_EQ(schedule.request.algorithm, Algorithm::kRing);
  EXPECT_EQ(text(schedule), (Lines{"2>3 c0", "2>3 c1  3>0 c0", "3>0 c1  0>1 c0", "0>1 c1"}));
  EXPECT_EQ(schedule.rounds[0][0].range, (Range{0, 3}));
  EXPECT_EQ(schedule.rounds[1][0].range, (Range{3, 5}));
}

TEST(ChainSchedule, ReduceEndsAtTheRoot) {
  EXPECT_EQ(text(make(Operation::kReduce, Algorithm::kRing, 4, 5, 1)),
            (Lines{"2>3 [0,5)+", "3>0 [0,5)+", "0>1 [0,5)+"}));
}

TEST(StarSchedule, OneRoundInAscendingRankOrder) {
  EXPECT_EQ(text(make(Operation::kReduce, Algorithm::kStar, 4, 5, 1)),
            (Lines{"0>1 [0,5)+  2>1 [0,5)+  3>1 [0,5)+"}));
  EXPECT_EQ(text(make(Operation::kScatter, Algorithm::kStar, 3, 5)), (Lines{"0>1 c1  0>2 c2"}));
  EXPECT_EQ(text(make(Operation::kAllReduce, Algorithm::kStar, 3, 5)),
            (Lines{"1>0 [0,5)+  2>0 [0,5)+", "0>1 [0,5)  0>2 [0,5)"}));
  EXPECT_EQ(text(make(Operation::kAllGather, Algorithm::kStar, 3, 1)),
            (Lines{"1>0 c1  2>0 c2", "0>1 [0,3)  0>2 [0,3)"}));
  EXPECT_EQ(text(make(Operation::kReduceScatter, Algorithm::kStar, 3, 1)),
            (Lines{"1>0 [0,3)+  2>0 [0,3)+", "0>1 c1  0>2 c2"}));
}

TEST(TreeSchedule, BroadcastDoublesTheInformed) {
  EXPECT_EQ(text(make(Operation::kBroadcast, Algorithm::kTree, 6, 1, 1)),
            (Lines{"1>2 [0,1)", "1>3 [0,1)  2>4 [0,1)", "1>5 [0,1)  2>0 [0,1)"}));
  EXPECT_EQ(text(make(Operation::kReduce, Algorithm::kTree, 4, 1)),
            (Lines{"2>0 [0,1)+  3>1 [0,1)+", "1>0 [0,1)+"}));
}

TEST(TreeSchedule, ScatterSendsTheLargestSubtreeFirst) {
  EXPECT_EQ(text(make(Operation::kScatter, Algorithm::kTree, 6, 2)),
            (Lines{"0>4 [8,12)", "0>2 [4,8)", "0>1 c1  2>3 c3  4>5 c5"}));
  EXPECT_EQ(text(make(Operation::kGather, Algorithm::kTree, 4, 1)),
            (Lines{"1>0 c1  3>2 c3", "2>0 [2,4)"}));
}

TEST(TreeSchedule, BlocksAroundTheEndAreTwoMessages) {
  EXPECT_EQ(text(make(Operation::kScatter, Algorithm::kTree, 4, 1, 1)),
            (Lines{"1>3 [3,4)  1>3 [0,1)", "1>2 c2  3>0 c0"}));
}

TEST(Schedule, BarrierIsAnAllReduceOfNothing) {
  for (const auto algorithm : {Algorithm::kRing, Algorithm::kStar, Algorithm::kTree}) {
    const Schedule barrier = make(Operation::kBarrier, algorithm, 5, 0);
    const Schedule all_reduce = make(Operation::kAllReduce, algorithm, 5, 0);
    EXPECT_EQ(barrier.rounds, all_reduce.rounds);
    EXPECT_EQ(barrier.elements, 0U);
  }
}

TEST(Schedule, SendIsOneMessage) {
  ScheduleRequest request;
  request.operation = Operation::kSend;
  request.ranks = 4;
  request.root = 3;
  request.peer = 1;
  request.count = 7;
  EXPECT_EQ(text(make_schedule(request)), (Lines{"3>1 [0,7)"}));
}

TEST(Schedule, CountsPerRankMakeBlocksOfTheirOwnSize) {
  ScheduleRequest request;
  request.operation = Operation::kScatter;
  request.ranks = 4;
  request.counts = {3, 3, 3, 1};
  const Schedule schedule = make_schedule(request);
  EXPECT_EQ(schedule.elements, 10U);
  EXPECT_EQ(schedule.blocks, (std::vector<Range>{{0, 3}, {3, 6}, {6, 9}, {9, 10}}));
}

// The tables of NCCL's trees for 4 and 8 ranks; -1 is the root.
TEST(DoubleTreeSchedule, HasNcclsParents) {
  using Parents = std::vector<int>;
  EXPECT_EQ(schedule::double_tree_parents(4, 0), (Parents{-1, 2, 0, 2}));
  EXPECT_EQ(schedule::double_tree_parents(4, 1), (Parents{1, 3, 1, -1}));
  EXPECT_EQ(schedule::double_tree_parents(8, 0), (Parents{-1, 2, 4, 2, 0, 6, 4, 6}));
  EXPECT_EQ(schedule::double_tree_parents(8, 1), (Parents{1, 3, 1, 7, 5, 3, 5, -1}));
}

TEST(DoubleTreeSchedule, AllReduceGoesUpBothTreesAndDownAgain) {
  EXPECT_EQ(text(make(Operation::kAllReduce, Algorithm::kDoubleTree, 4, 8)),
            (Lines{"1>2 c0+  3>2 c0+  0>1 c1+  2>1 c1+", "2>0 c0+  1>3 c1+", "0>2 c0  3>1 c1",
                   "2>1 c0  2>3 c0  1>0 c1  1>2 c1"}));
}

TEST(HalvingDoublingSchedule, AllReduceHalvesThenDoubles) {
  EXPECT_EQ(text(make(Operation::kAllReduce, Algorithm::kHalvingDoubling, 4, 8)),
            (Lines{"2>0 [0,4)+  3>1 [0,4)+  0>2 [4,8)+  1>3 [4,8)+",
                   "1>0 [0,2)+  0>1 [2,4)+  3>2 [4,6)+  2>3 [6,8)+",
                   "0>1 [0,2)  1>0 [2,4)  2>3 [4,6)  3>2 [6,8)",
                   "0>2 [0,4)  1>3 [0,4)  2>0 [4,8)  3>1 [4,8)"}));
}

TEST(HalvingDoublingSchedule, OneOfEachOddPairActsForBoth) {
  EXPECT_EQ(text(make(Operation::kAllReduce, Algorithm::kHalvingDoubling, 3, 4)),
            (Lines{"1>0 [0,4)+", "2>0 [0,2)+  0>2 [2,4)+", "0>2 [0,2)  2>0 [2,4)", "0>1 [0,4)"}));
  EXPECT_EQ(text(make(Operation::kReduceScatter, Algorithm::kHalvingDoubling, 3, 2)),
            (Lines{"1>0 [0,6)+", "2>0 [0,4)+  0>2 [4,6)+", "0>1 [2,4)"}));
}

// Block 3i + j goes from rank i to rank j.
TEST(DirectSchedule, AllToAllSendsEveryPairItsBlock) {
  const Schedule schedule = make(Operation::kAllToAll, Algorithm::kAutomatic, 3, 2);
  EXPECT_EQ(schedule.elements, 18U);
  EXPECT_EQ(text(schedule), (Lines{"0>1 c1  1>2 c5  2>0 c6", "0>2 c2  1>0 c3  2>1 c7"}));
}

TEST(DirectSchedule, EveryRankMeetsEveryOther) {
  EXPECT_EQ(text(make(Operation::kReduceScatter, Algorithm::kDirect, 3, 2)),
            (Lines{"0>1 c1+  1>2 c2+  2>0 c0+", "0>2 c2+  1>0 c0+  2>1 c1+"}));
  EXPECT_EQ(text(make(Operation::kAllGather, Algorithm::kDirect, 3, 2)),
            (Lines{"0>1 c0  1>2 c1  2>0 c2", "0>2 c0  1>0 c1  2>1 c2"}));
}

TEST(ChainSchedule, AllReduceGoesToTheFirstRankAndBack) {
  EXPECT_EQ(text(make(Operation::kAllReduce, Algorithm::kChain, 3, 4)),
            (Lines{"1>2 [0,4)+", "2>0 [0,4)+", "0>1 [0,4)", "1>2 [0,4)"}));
}

// Two nodes of two ranks: inside, between twice, inside.
TEST(HierarchicalSchedule, AllReduceCrossesNodesWithAShare) {
  const Schedule schedule = make(Operation::kAllReduce, Algorithm::kHierarchical, 4, 8);
  EXPECT_EQ(schedule.request.node_size, 2);
  EXPECT_EQ(text(schedule), (Lines{"0>1 [4,8)+  1>0 [0,4)+  2>3 [4,8)+  3>2 [0,4)+",
                                   "0>2 [2,4)+  2>0 [0,2)+  1>3 [6,8)+  3>1 [4,6)+",
                                   "0>2 [0,2)  2>0 [2,4)  1>3 [4,6)  3>1 [6,8)",
                                   "0>1 [0,4)  1>0 [4,8)  2>3 [0,4)  3>2 [4,8)"}));
}

TEST(HierarchicalSchedule, ANodeSizeMustDivideTheRanks) {
  ScheduleRequest request;
  request.algorithm = Algorithm::kHierarchical;
  request.ranks = 6;
  for (const auto& [asked, taken] :
       std::vector<std::pair<int, int>>{{0, 2}, {1, 1}, {3, 3}, {6, 6}}) {
    request.node_size = asked;
    EXPECT_EQ(make_schedule(request).request.node_size, taken);
  }
  request.node_size = 4;
  try {
    make_schedule(request);
    FAIL() << "4 does not divide 6";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "all-reduce: node size 4: must divide the 6 ranks");
  }
}

TEST(Schedule, OneRankSendsNothing) {
  for (const auto operation :
       {Operation::kBroadcast, Operation::kReduce, Operation::kAllReduce, Operation::kAllGather,
        Operation::kReduceScatter, Operation::kScatter, Operation::kGather, Operation::kBarrier}) {
    for (const Algorithm algorithm : algorithms_for(operation)) {
      EXPECT_TRUE(make(operation, algorithm, 1, 5).rounds.empty()) << to_string(operation);
    }
  }
}

}  // namespace
}  // namespace ringside
