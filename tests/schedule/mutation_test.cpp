// The checker is a checker only if it catches wrong schedules. Right schedules are damaged one
// message at a time, and an interpreter that is written differently (it adds numbers, in which each
// rank has its own four bits) tells whether the damage matters.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ringside/schedule.h"

namespace ringside {
namespace {

using Values = std::vector<std::vector<std::uint64_t>>;  // by rank and element

constexpr std::uint64_t kGarbage = 0xF0F0F0F0F0F0F0F1;

std::uint64_t contribution(int rank) { return std::uint64_t{1} << (4 * rank); }

bool in_block(const Schedule& schedule, int rank, std::size_t element) {
  const Range block = schedule.blocks[static_cast<std::size_t>(rank)];
  return block.begin <= element && element < block.end;
}

// What a rank holds at the start, straight from the definitions of the operations.
std::uint64_t initial(const Schedule& schedule, int rank, std::size_t element) {
  const bool is_root = rank == schedule.request.root;
  switch (schedule.request.operation) {
    case Operation::kBroadcast:
    case Operation::kScatter:
      return is_root ? contribution(rank) : kGarbage;
    case Operation::kGather:
    case Operation::kAllGather:
      return in_block(schedule, rank, element) ? contribution(rank) : kGarbage;
    default:
      return contribution(rank);
  }
}

bool result_is_right(const Schedule& schedule, int rank, std::size_t element, std::uint64_t value) {
  const int ranks = schedule.request.ranks;
  const bool is_root = rank == schedule.request.root;
  std::uint64_t sum = 0;
  for (int r = 0; r < ranks; ++r) sum += contribution(r);
  switch (schedule.request.operation) {
    case Operation::kBroadcast:
      return value == contribution(schedule.request.root);
    case Operation::kScatter:
      return !in_block(schedule, rank, element) || value == contribution(schedule.request.root);
    case Operation::kGather:
    case Operation::kAllGather:
      if (schedule.request.operation == Operation::kGather && !is_root) return true;
      for (int r = 0; r < ranks; ++r) {
        if (in_block(schedule, r, element)) return value == contribution(r);
      }
      return false;
    case Operation::kReduce:
      return !is_root || value == sum;
    case Operation::kReduceScatter:
      return !in_block(schedule, rank, element) || value == sum;
    default:
      return value == sum;
  }
}

bool gives_right_results(const Schedule& schedule) {
  const auto ranks = static_cast<std::size_t>(schedule.request.ranks);
  Values values(ranks, std::vector<std::uint64_t>(schedule.elements));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t e = 0; e < schedule.elements; ++e) {
      values[rank][e] = initial(schedule, static_cast<int>(rank), e);
    }
  }
  for (const Round& round : schedule.rounds) {
    const Values before = values;
    for (const Message& m : round) {
      for (std::size_t e = m.range.begin; e < m.range.end; ++e) {
        const std::uint64_t sent = before[static_cast<std::size_t>(m.source)][e];
        std::uint64_t& into = values[static_cast<std::size_t>(m.destination)][e];
        into = m.action == Action::kCopy ? sent : into + sent;
      }
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t e = 0; e < schedule.elements; ++e) {
      if (!result_is_right(schedule, static_cast<int>(rank), e, values[rank][e])) return false;
    }
  }
  return true;
}

std::vector<Schedule> right_schedules() {
  std::vector<Schedule> result;
  for (const auto operation :
       {Operation::kBroadcast, Operation::kScatter, Operation::kGather, Operation::kReduce,
        Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter}) {
    for (const Algorithm algorithm : algorithms_for(operation)) {
      for (int ranks = 2; ranks <= 9; ++ranks) {
        ScheduleRequest request;
        request.operation = operation;
        request.algorithm = algorithm;
        request.ranks = ranks;
        request.count = has_blocks(operation) ? 3 : 11;
        request.root = has_root(operation) ? ranks / 2 : 0;
        request.border = Border::kEven;
        request.pieces = has_root(operation) && algorithm == Algorithm::kRing ? 2 : 1;
        result.push_back(make_schedule(request));
      }
    }
  }
  return result;
}

using Mutation = std::function<void(Schedule&, std::size_t round, std::size_t message)>;

const std::vector<std::pair<std::string, Mutation>>& mutations() {
  static const std::vector<std::pair<std::string, Mutation>> list = {
      {"dropped",
       [](Schedule& s, std::size_t r, std::size_t m) {
         s.rounds[r].erase(s.rounds[r].begin() + static_cast<std::ptrdiff_t>(m));
       }},
      {"doubled", [](Schedule& s, std::size_t r,
                     std::size_t m) { s.rounds[r].push_back(Message(s.rounds[r][m])); }},
      {"repeated in a round of its own",
       [](Schedule& s, std::size_t r, std::size_t m) {
         s.rounds.insert(s.rounds.begin() + static_cast<std::ptrdiff_t>(r) + 1,
                         Round{s.rounds[r][m]});
       }},
      {"shorter", [](Schedule& s, std::size_t r, std::size_t m) { --s.rounds[r][m].range.end; }},
      {"moved down",
       [](Schedule& s, std::size_t r, std::size_t m) {
         Range& range = s.rounds[r][m].range;
         if (range.begin > 0) range = {range.begin - 1, range.end - 1};
       }},
      {"moved up",
       [](Schedule& s, std::size_t r, std::size_t m) {
         Range& range = s.rounds[r][m].range;
         range = {range.begin + 1, range.end + 1};
       }},
      {"wrong action",
       [](Schedule& s, std::size_t r, std::size_t m) {
         Action& action = s.rounds[r][m].action;
         action = action == Action::kCopy ? Action::kCombine : Action::kCopy;
       }},
      {"wrong destination",
       [](Schedule& s, std::size_t r, std::size_t m) {
         Message& message = s.rounds[r][m];
         message.destination = (message.destination + 1) % s.request.ranks;
       }},
      {"wrong source",
       [](Schedule& s, std::size_t r, std::size_t m) {
         Message& message = s.rounds[r][m];
         message.source = (message.source + 1) % s.request.ranks;
       }},
  };
  return list;
}

bool leaves_the_buffer(const Schedule& schedule) {
  for (const Round& round : schedule.rounds) {
    for (const Message& message : round) {
      if (message.range.end > schedule.elements) return true;
    }
  }
  return false;
}

TEST(CheckSchedule, CatchesEveryDamageThatChangesAResult) {
  std::vector<int> caught(mutations().size(), 0);
  for (const Schedule& right : right_schedules()) {
    ASSERT_TRUE(gives_right_results(right));
    ASSERT_EQ(check_schedule(right), "");
    for (std::size_t r = 0; r < right.rounds.size(); ++r) {
      for (std::size_t m = 0; m < right.rounds[r].size(); ++m) {
        for (std::size_t k = 0; k < mutations().size(); ++k) {
          const auto& [name, mutate] = mutations()[k];
          Schedule wrong = right;
          mutate(wrong, r, m);
          const std::string violation = check_schedule(wrong);
          if (!violation.empty()) ++caught[k];
          if (leaves_the_buffer(wrong) || !gives_right_results(wrong)) {
            ASSERT_NE(violation, "")
                << name << ": " << to_string(right.request.operation) << " "
                << to_string(right.request.algorithm) << ", " << right.request.ranks
                << " ranks, round " << r << ", message " << m;
          }
        }
      }
    }
  }
  for (std::size_t k = 0; k < mutations().size(); ++k) {
    EXPECT_GT(caught[k], 500) << mutations()[k].first;
  }
}

TEST(CheckSchedule, ADoubledMessageIsCaughtAlsoWhereItChangesNothing) {
  for (const Schedule& right : right_schedules()) {
    Schedule wrong = right;
    wrong.rounds.back().push_back(Message(wrong.rounds.back().front()));
    ASSERT_NE(check_schedule(wrong), "");
  }
}

TEST(CheckSchedule, SaysWhatIsWrong) {
  ScheduleRequest request;
  request.ranks = 3;
  request.count = 6;
  request.border = Border::kEven;
  const Schedule right = make_schedule(request);

  Schedule wrong = right;
  wrong.rounds[3].erase(wrong.rounds[3].begin());  // 0 > 1, chunk 2
  EXPECT_EQ(check_schedule(wrong), "rank 1, element 4: contribution of rank 2 missing");

  wrong = right;
  wrong.rounds[2][0].action = Action::kCombine;  // 0 > 1, chunk 0
  EXPECT_EQ(check_schedule(wrong), "rank 1, element 0: contribution of rank 1 counted twice");

  wrong = right;
  wrong.rounds[0][0].destination = 2;
  EXPECT_EQ(check_schedule(wrong), "round 0: rank 2 receives twice");

  wrong = right;
  wrong.rounds[0][0].source = 1;
  EXPECT_EQ(check_schedule(wrong), "round 0: rank 1 sends twice");

  wrong = right;
  wrong.rounds[0][0].range.end = 7;
  EXPECT_EQ(check_schedule(wrong),
            "round 0: message from rank 0 to rank 1: elements [4, 7) of a buffer of 6");

  wrong = right;
  wrong.rounds[0][0].destination = 3;
  EXPECT_EQ(check_schedule(wrong), "round 0: message from rank 0 to rank 3: there are 3 ranks");
}

TEST(CheckSchedule, ABarrierMustTellEveryRankOfEveryOther) {
  for (const auto algorithm : {Algorithm::kStar, Algorithm::kTree}) {
    ScheduleRequest request;
    request.operation = Operation::kBarrier;
    request.algorithm = algorithm;
    request.ranks = 5;
    const Schedule right = make_schedule(request);
    for (std::size_t r = 0; r < right.rounds.size(); ++r) {
      for (std::size_t m = 0; m < right.rounds[r].size(); ++m) {
        Schedule wrong = right;
        wrong.rounds[r].erase(wrong.rounds[r].begin() + static_cast<std::ptrdiff_t>(m));
        EXPECT_NE(check_schedule(wrong).find("has not heard of"), std::string::npos);
      }
    }
  }
  ScheduleRequest request;
  request.operation = Operation::kBarrier;
  request.ranks = 4;
  Schedule half = make_schedule(request);
  half.rounds.resize(2);
  EXPECT_EQ(check_schedule(half), "rank 0 has not heard of rank 1");
}

}  // namespace
}  // namespace ringside
