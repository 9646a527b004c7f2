// The pictures of a collective: their DOT texts, stable places, and what the cells say.

#include <gtest/gtest.h>

#include <regex>

#include "ringside/views.h"
#include "views/dot_nodes.h"
#include "views/golden.h"
#include "views/schedule_states.h"

namespace ringside {
namespace {

using test::attribute;
using test::DotText;
using test::read_dot;

Schedule schedule(Operation operation, Algorithm algorithm, int ranks, std::size_t count,
                  int root = 0) {
  ScheduleRequest request;
  request.operation = operation;
  request.algorithm = algorithm;
  request.ranks = ranks;
  request.count = count;
  request.root = root;
  request.peer = ranks > 1 ? 1 : 0;
  request.border = Border::kEven;
  return make_schedule(request);
}

std::vector<std::vector<std::string>> some_values(const Schedule& made) {
  std::vector<std::vector<std::string>> values;
  for (std::size_t stage = 0; stage <= made.rounds.size(); ++stage) {
    values.emplace_back();
    for (int rank = 0; rank < made.request.ranks; ++rank) {
      values.back().push_back(std::to_string(10 * rank + static_cast<int>(stage)) + " 7");
    }
  }
  return values;
}

TEST(SchedulePictures, OfARingAreGolden) {
  const Schedule ring = schedule(Operation::kAllReduce, Algorithm::kRing, 4, 8);
  const std::vector<Picture> pictures =
      draw_schedule(ring, ReduceOp::kSum, some_values(ring), DrawOptions{});
  ASSERT_EQ(pictures.size(), 7U);
  EXPECT_EQ(pictures[0].name, "all-reduce-ring-4");
  EXPECT_EQ(pictures[2].name, "all-reduce-ring-4-round2");
  EXPECT_EQ(pictures[0].caption,
            "6 rounds, 24 messages, 192 B in all. Every rank sends 48 B, 1.5 times its "
            "buffer of 32 B.");
  test::expect_golden(pictures[0], "all-reduce-ring");
  test::expect_golden(pictures[2], "all-reduce-ring-round2");
}

TEST(SchedulePictures, NameTheBusiestRank) {
  const auto caption = [](Operation operation, Algorithm algorithm, int ranks) {
    const Schedule made = schedule(operation, algorithm, ranks, 8);
    return draw_schedule(made, ReduceOp::kSum, {}, {})[0].caption;
  };
  EXPECT_EQ(caption(Operation::kAllReduce, Algorithm::kStar, 8),
            "2 rounds, 14 messages, 448 B in all. Rank 0, the busiest, sends 224 B, 7 times its "
            "buffer of 32 B.");
  EXPECT_EQ(caption(Operation::kGather, Algorithm::kStar, 4),
            "1 round, 3 messages, 96 B in all. Rank 0, the busiest, receives 96 B, 0.75 times its "
            "buffer of 128 B.");
  EXPECT_EQ(caption(Operation::kAllReduce, Algorithm::kDoubleTree, 8),
            "6 rounds, 28 messages, 448 B in all. The busiest rank sends 64 B, 2 times its buffer "
            "of 32 B.");
}

// 4 nodes of 2: in each of 2(4 - 1) rounds between nodes 8 ranks send 4 B.
TEST(SchedulePictures, ShowNodesAndWhatGoesBetweenThem) {
  const Schedule made = schedule(Operation::kAllReduce, Algorithm::kHierarchical, 8, 8);
  ASSERT_EQ(made.request.node_size, 2);
  const std::vector<Picture> pictures = draw_schedule(made, ReduceOp::kSum, {}, {});
  EXPECT_EQ(pictures[0].caption,
            "8 rounds, 64 messages, 448 B in all. Every rank sends 56 B, 1.75 times its buffer of "
            "32 B. 192 B go between nodes of 2 ranks.");
  EXPECT_EQ(pictures[1].caption.find("Round 1 of 8, inside nodes: 8 messages, 128 B"), 0U)
      << pictures[1].caption;
  EXPECT_EQ(pictures[2].caption.find("Round 2 of 8, between nodes: 8 messages, 32 B"), 0U)
      << pictures[2].caption;

  const test::DotText dot = read_dot(pictures[0].dot);
  EXPECT_NE(pictures[0].dot.find("<b>rank 3, node 1</b>"), std::string::npos);
  EXPECT_EQ(test::attribute(dot.nodes.at("m_rank1_before_rank0"), "label"), "from 1: 32 B in 2");
  const auto x = [&](const std::string& id) {
    return std::stod(test::attribute(dot.nodes.at(id), "pos"));
  };
  EXPECT_GT(x("rank2") - x("rank1"), x("rank1") - x("rank0") + 20);
}

TEST(SchedulePictures, NameAllRanksThatAnEllipsisSendsFor) {
  const Schedule made = schedule(Operation::kAllReduce, Algorithm::kHierarchical, 12, 12);
  const DotText dot = read_dot(draw_schedule(made, ReduceOp::kSum, {}, {})[0].dot);
  EXPECT_EQ(attribute(dot.nodes.at("m_more6_before_rank11"), "label"), "from 6–10: 88 B in 10");
}

TEST(SchedulePictures, TellHowFarApartHalvingDoublingExchanges) {
  const Schedule made = schedule(Operation::kAllReduce, Algorithm::kHalvingDoubling, 8, 8);
  const std::vector<Picture> pictures = draw_schedule(made, ReduceOp::kSum, {}, {});
  EXPECT_EQ(pictures[1].caption.find("Round 1 of 6, between ranks 4 apart: 8 messages, 128 B"), 0U)
      << pictures[1].caption;
}

TEST(SchedulePictures, OfAStarAndATreeAreGolden) {
  const Schedule star = schedule(Operation::kScatter, Algorithm::kStar, 5, 3, 2);
  test::expect_golden(draw_schedule(star, ReduceOp::kSum, {}, {})[1], "scatter-star-round1");
  const Schedule tree = schedule(Operation::kBroadcast, Algorithm::kTree, 8, 8);
  test::expect_golden(draw_schedule(tree, ReduceOp::kSum, {}, {})[3], "broadcast-tree-round3");
}

TEST(SchedulePictures, MarkWhatIsCombined) {
  const Schedule ring = schedule(Operation::kAllReduce, Algorithm::kRing, 4, 8);
  const std::vector<Picture> pictures = draw_schedule(ring, ReduceOp::kMax, {}, {});
  const std::regex plus(R"x(label="chunk \d \+ \(8 B\)")x");
  const std::regex plain(R"x(label="chunk \d \(8 B\)")x");
  EXPECT_TRUE(std::regex_search(pictures[3].dot, plus));  // reduce-scatter
  EXPECT_FALSE(std::regex_search(pictures[3].dot, plain));
  EXPECT_TRUE(std::regex_search(pictures[4].dot, plain));  // all-gather
  EXPECT_FALSE(std::regex_search(pictures[4].dot, plus));
  EXPECT_NE(pictures[3].title.find("(max)"), std::string::npos);
}

TEST(SchedulePictures, ShowTheValuesAfterTheRound) {
  const Schedule ring = schedule(Operation::kAllReduce, Algorithm::kRing, 3, 6);
  const std::vector<Picture> pictures =
      draw_schedule(ring, ReduceOp::kSum, some_values(ring), DrawOptions{});
  const auto value = [&](std::size_t picture, const char* rank) {
    return attribute(read_dot(pictures[picture].dot).nodes.at(rank), "label");
  };
  EXPECT_EQ(value(1, "rank2_value"), "21 7");
  EXPECT_EQ(value(4, "rank2_value"), "24 7");
  EXPECT_EQ(value(0, "rank2_value"), "24 7");  // the whole: after the last round
}

TEST(SchedulePictures, CutLongValuesBetweenNumbers) {
  const Schedule ring = schedule(Operation::kAllReduce, Algorithm::kRing, 3, 6);
  std::vector<std::vector<std::string>> values(ring.rounds.size() + 1);
  for (auto& stage : values) stage.assign(3, "7800 7812 7824 7836 7848 7860 7872 7884");
  const DotText dot = read_dot(draw_schedule(ring, ReduceOp::kSum, values, {})[0].dot);
  EXPECT_EQ(attribute(dot.nodes.at("rank1_value"), "label"), "7800 7812 7824 7836 7848 7860 …");
}

TEST(SchedulePictures, NeverLetAnEllipsisStandForOneRank) {
  const Schedule tree = schedule(Operation::kAllReduce, Algorithm::kTree, 12, 8);
  const DotText dot = read_dot(draw_schedule(tree, ReduceOp::kSum, {}, {})[0].dot);
  EXPECT_TRUE(dot.nodes.contains("rank7"));
  EXPECT_TRUE(dot.nodes.contains("rank8"));
  EXPECT_EQ(attribute(dot.nodes.at("more6_name"), "label"), "… 3 more");  // 6, 9 and 10
}

TEST(SchedulePictures, DrawEmptyChunksAsEmpty) {
  ScheduleRequest request;
  request.ranks = 4;
  request.count = 8;  // NCCL rounds chunks to 16 bytes: two chunks of 4, two empty ones
  const Schedule ring = make_schedule(request);
  EXPECT_NE(draw_schedule(ring, ReduceOp::kSum, {}, {})[1].dot.find("chunk 2, empty"),
            std::string::npos);
}

TEST(SchedulePictures, LeaveOutRanksButNeverTheRoot) {
  const Schedule star = schedule(Operation::kBroadcast, Algorithm::kStar, 12, 4, 7);
  const DotText dot = read_dot(draw_schedule(star, ReduceOp::kSum, {}, {})[0].dot);
  EXPECT_TRUE(dot.nodes.contains("rank7"));
  EXPECT_TRUE(dot.nodes.contains("rank11"));
  EXPECT_FALSE(dot.nodes.contains("rank6"));
  EXPECT_EQ(attribute(dot.nodes.at("more5_name"), "label"), "… 5 more");
}

struct Case {
  Operation operation;
  Algorithm algorithm;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Operation operation :
       {Operation::kBroadcast, Operation::kScatter, Operation::kGather, Operation::kReduce,
        Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter, Operation::kSend,
        Operation::kBarrier}) {
    for (const Algorithm algorithm : algorithms_for(operation)) {
      cases.push_back({operation, algorithm});
    }
  }
  return cases;
}

class EverySchedule : public testing::TestWithParam<Case> {};

TEST_P(EverySchedule, KeepsItsPlacesFromRoundToRound) {
  for (const int ranks : {1, 2, 5, 12}) {
    if (GetParam().operation == Operation::kSend && ranks == 1) continue;
    const std::size_t count = GetParam().operation == Operation::kBarrier ? 0 : 24;
    const Schedule made = schedule(GetParam().operation, GetParam().algorithm, ranks, count);
    const std::vector<Picture> pictures =
        draw_schedule(made, ReduceOp::kSum, some_values(made), DrawOptions{});
    ASSERT_EQ(pictures.size(), made.rounds.size() + 1);
    const DotText whole = read_dot(pictures[0].dot);
    for (const Picture& picture : pictures) {
      for (const auto& [id, attributes] : read_dot(picture.dot).nodes) {
        if (!id.starts_with("rank")) continue;
        EXPECT_EQ(attribute(attributes, "pos"), attribute(whole.nodes.at(id), "pos"))
            << picture.name << ": " << id;
      }
    }
  }
}

TEST_P(EverySchedule, EndsWithWhatTheOperationPromises) {
  const Operation operation = GetParam().operation;
  if (operation == Operation::kBarrier || operation == Operation::kSend) return;
  for (const int ranks : {2, 3, 4, 8}) {
    const Schedule made = schedule(operation, GetParam().algorithm, ranks, 24, 1);
    const ScheduleStates states = follow(made, 1000);
    ASSERT_EQ(states.states.size(), made.rounds.size() + 1);
    const bool everywhere = operation == Operation::kAllReduce ||
                            operation == Operation::kAllGather ||
                            operation == Operation::kBroadcast;
    for (std::size_t chunk = 0; chunk < states.chunks.size(); ++chunk) {
      for (int rank = 0; rank < ranks; ++rank) {
        if (!everywhere && rank != 1) continue;  // at the root: reduce and gather
        if (operation == Operation::kScatter || operation == Operation::kReduceScatter) continue;
        const ChunkState& last = states.states.back()[static_cast<std::size_t>(rank)][chunk];
        EXPECT_EQ(last.contributions.size(),
                  combines(operation) ? static_cast<std::size_t>(ranks) : 1U)
            << to_string(operation) << ", rank " << rank << ", chunk " << chunk;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EverySchedule, testing::ValuesIn(all_cases()), [](const auto& param) {
  std::string name = std::string(to_string(param.param.operation)) + "_" +
                     std::string(to_string(param.param.algorithm));
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace ringside
