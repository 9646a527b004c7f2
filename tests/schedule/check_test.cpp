// Every schedule that can be asked for is proved right, for 1 to 16 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "ringside/schedule.h"

namespace ringside {
namespace {

std::string describe(const ScheduleRequest& request) {
  return std::string(to_string(request.operation)) + " " +
         std::string(to_string(request.algorithm)) + ", " + std::to_string(request.ranks) +
         " ranks, count " + std::to_string(request.count) + ", root " +
         std::to_string(request.root) + ", " + std::string(to_string(request.border)) + ", " +
         std::string(to_string(request.direction)) + ", pieces " + std::to_string(request.pieces) +
         ", nodes of " + std::to_string(request.node_size);
}

// Calls `visit` with every request of `operation` and `ranks` that makes a different schedule.
template <typename Visit>
void for_each_request(Operation operation, int ranks, Visit visit) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::set<std::size_t> counts = operation == Operation::kBarrier
                                           ? std::set<std::size_t>{0}
                                           : std::set<std::size_t>{0, 1, 7, n - 1, n, n + 1, 1000};
  ScheduleRequest request;
  request.operation = operation;
  request.ranks = ranks;
  for (const Algorithm algorithm : algorithms_for(operation)) {
    request.algorithm = algorithm;
    const bool ring = algorithm == Algorithm::kRing || algorithm == Algorithm::kChain;
    const bool borders = algorithm == Algorithm::kRing && operation == Operation::kAllReduce;
    const bool pieces = (ring && has_root(operation)) || algorithm == Algorithm::kChain ||
                        algorithm == Algorithm::kDoubleTree;
    for (const std::size_t count : counts) {
      request.count = count;
      for (int root = 0; root < (has_root(operation) ? ranks : 1); ++root) {
        request.root = root;
        for (int direction = 0; direction < (ring ? 2 : 1); ++direction) {
          request.direction = static_cast<Direction>(direction);
          for (int border = 0; border < (borders ? 3 : 1); ++border) {
            request.border = static_cast<Border>(border);
            for (const int k : pieces ? std::set<int>{1, 2, 5} : std::set<int>{1}) {
              request.pieces = k;
              for (request.node_size = 0; request.node_size <= ranks; ++request.node_size) {
                if (request.node_size > 0 && ranks % request.node_size != 0) continue;
                visit(request);
                if (algorithm != Algorithm::kHierarchical) break;
              }
              request.node_size = 0;
            }
          }
        }
      }
    }
  }
}

class EverySchedule : public testing::TestWithParam<Operation> {};

TEST_P(EverySchedule, IsRight) {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for_each_request(GetParam(), ranks, [](const ScheduleRequest& request) {
      ASSERT_EQ(check_schedule(make_schedule(request)), "") << describe(request);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, EverySchedule,
                         testing::Values(Operation::kBroadcast, Operation::kScatter,
                                         Operation::kGather, Operation::kReduce,
                                         Operation::kAllReduce, Operation::kAllGather,
                                         Operation::kReduceScatter, Operation::kBarrier,
                                         Operation::kAllToAll),
                         [](const auto& tested) {
                           std::string name(to_string(tested.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(EverySchedule, IsRightWithCountsPerRank) {
  for (const auto operation : {Operation::kGather, Operation::kScatter, Operation::kAllGather}) {
    for (const Algorithm algorithm : algorithms_for(operation)) {
      for (const std::vector<std::size_t>& counts :
           {std::vector<std::size_t>{3, 3, 3, 1}, {0, 5, 0, 2, 1}, {0, 0, 0}, {4}}) {
        ScheduleRequest request;
        request.operation = operation;
        request.algorithm = algorithm;
        request.ranks = static_cast<int>(counts.size());
        request.counts = counts;
        for (request.root = 0; request.root < request.ranks; ++request.root) {
          ASSERT_EQ(check_schedule(make_schedule(request)), "") << describe(request);
        }
      }
    }
  }
}

TEST(EverySchedule, IsRightForEveryPairOfRanks) {
  ScheduleRequest request;
  request.operation = Operation::kSend;
  request.ranks = 4;
  request.count = 7;
  for (request.root = 0; request.root < 4; ++request.root) {
    for (request.peer = 0; request.peer < 4; ++request.peer) {
      ASSERT_EQ(check_schedule(make_schedule(request)), "");
    }
  }
}

}  // namespace
}  // namespace ringside
