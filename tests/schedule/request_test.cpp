// What make_schedule refuses, and what it takes when nothing is asked for.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "ringside/error.h"
#include "ringside/schedule.h"

namespace ringside {
namespace {

std::string refusal(const ScheduleRequest& request) {
  try {
    make_schedule(request);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    return error.what();
  }
  return "no error";
}

ScheduleRequest request_for(Operation operation, int ranks) {
  ScheduleRequest request;
  request.operation = operation;
  request.ranks = ranks;
  request.count = 4;
  return request;
}

TEST(ScheduleRequest, NamesWhatIsWrong) {
  EXPECT_EQ(refusal(request_for(Operation::kAllReduce, 0)),
            "all-reduce: 0 ranks: must be at least 1");

  ScheduleRequest request = request_for(Operation::kBroadcast, 4);
  request.root = 4;
  EXPECT_EQ(refusal(request), "broadcast: root 4: must be in [0, 3]");
  request.root = -1;
  EXPECT_EQ(refusal(request), "broadcast: root -1: must be in [0, 3]");

  request = request_for(Operation::kSend, 2);
  request.peer = 2;
  EXPECT_EQ(refusal(request), "send: peer 2: must be in [0, 1]");

  request = request_for(Operation::kGather, 4);
  request.counts = {1, 2, 3};
  EXPECT_EQ(refusal(request), "gather: 3 counts for 4 ranks: one per rank is needed");

  request = request_for(Operation::kReduceScatter, 2);
  request.counts = {1, 2};
  EXPECT_EQ(refusal(request),
            "reduce-scatter: counts per rank: only gather, scatter and all-gather take them");

  request = request_for(Operation::kReduce, 2);
  request.pieces = 0;
  EXPECT_EQ(refusal(request), "reduce: 0 pieces: must be at least 1");

  request = request_for(Operation::kGather, 2);
  request.algorithm = Algorithm::kRing;
  EXPECT_EQ(refusal(request), "gather: algorithm ring: must be one of star, tree");

  request = request_for(Operation::kAllGather, 4);
  request.count = std::numeric_limits<std::size_t>::max() / 32;
  EXPECT_NE(refusal(request).find("more elements than can be counted"), std::string::npos);
}

TEST(ScheduleRequest, AutomaticIsWhatNcclTakesInsideANode) {
  const auto chosen = [](Operation operation) {
    return make_schedule(request_for(operation, 4)).request.algorithm;
  };
  EXPECT_EQ(chosen(Operation::kAllReduce), Algorithm::kRing);
  EXPECT_EQ(chosen(Operation::kBroadcast), Algorithm::kRing);
  EXPECT_EQ(chosen(Operation::kReduce), Algorithm::kRing);
  EXPECT_EQ(chosen(Operation::kScatter), Algorithm::kStar);
  EXPECT_EQ(chosen(Operation::kGather), Algorithm::kStar);
}

TEST(ScheduleRequest, ARootWhereThereIsNoneIsIgnored) {
  ScheduleRequest request = request_for(Operation::kAllReduce, 4);
  request.root = 17;
  EXPECT_EQ(refusal(request), "no error");
}

}  // namespace
}  // namespace ringside
