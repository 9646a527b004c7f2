// What is left of a run that failed: an op that was not carried out takes with it what would have
// come after it, on whatever rank.
#include "trace/happened.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/trace_builder.h"

namespace ringside {
namespace {

ScheduleRequest all_reduce(std::size_t count) {
  ScheduleRequest request;
  request.ranks = 2;
  request.count = count;
  return request;
}

/// The names of what is left of `trace`, rank by rank: "0 a", "1 all-reduce".
std::vector<std::string> left_of(const Trace& trace, OpId unfinished = kNoOp) {
  std::vector<bool> missing(trace.ops.size());
  if (unfinished != kNoOp) missing[static_cast<std::size_t>(unfinished)] = true;
  const std::vector<TraceOp> ops = without_others(trace.ops, carried_out(trace.ops, missing));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    EXPECT_EQ(ops[i].id, static_cast<OpId>(i));
    for (const OpId dependency : ops[i].dependencies) EXPECT_LT(dependency, ops[i].id);
    names.push_back(std::to_string(ops[i].rank) + " " + ops[i].name);
  }
  return names;
}

using Names = std::vector<std::string>;

class Happened : public testing::Test {
 protected:
  OpId compute(int rank, const std::string& name) {
    return builder_.compute(rank, name, "", 1, {}, {});
  }
  OpId reduce(int rank, std::int64_t sequence, std::size_t count = 8) {
    return builder_.collective(rank, all_reduce(count), ReduceOp::kSum, sequence, {}, {});
  }
  test::TraceBuilder builder_{2};
};

TEST_F(Happened, EverythingWhereNothingIsMissing) {
  compute(0, "a");
  compute(1, "b");
  reduce(0, 1);
  reduce(1, 1);
  EXPECT_EQ(left_of(builder_.finish()).size(), 4U);
}

TEST_F(Happened, NotACollectiveThatARankDidNotCall) {
  compute(0, "a");
  compute(1, "b");
  const OpId alone = reduce(0, 1);
  builder_.wait(0, StreamKind::kCompute, alone);
  compute(0, "behind");
  EXPECT_EQ(left_of(builder_.finish()), (Names{"0 a", "1 b"}));
}

TEST_F(Happened, NotACollectiveThatTheRanksCalledDifferently) {
  reduce(0, 1);
  reduce(1, 1);
  reduce(0, 2, 8);
  reduce(1, 2, 9);
  EXPECT_EQ(left_of(builder_.finish()), (Names{"0 all-reduce", "1 all-reduce"}));
}

// Rank 1's launch failed before its all-reduce, for which rank 0 waits.
TEST_F(Happened, NothingThatWaitsForWhatFailed) {
  const OpId failed = compute(1, "failed");
  builder_.wait(1, StreamKind::kCommunication, failed);
  reduce(1, 1);
  compute(0, "a");
  const OpId sum = reduce(0, 1);
  compute(0, "beside");
  builder_.wait(0, StreamKind::kCompute, sum);
  compute(0, "behind");
  const Trace trace = builder_.finish();
  OpId id = kNoOp;
  for (const TraceOp& op : trace.ops) id = op.name == "failed" ? op.id : id;
  EXPECT_EQ(left_of(trace, id), (Names{"0 a", "0 beside"}));
}

// Of another process's rank nothing is known.
TEST_F(Happened, RanksOfOtherProcessesAreTakenToHaveCalled) {
  reduce(0, 1);
  compute(0, "a");
  EXPECT_EQ(left_of(builder_.finish()), (Names{"0 all-reduce", "0 a"}));
}

}  // namespace
}  // namespace ringside
