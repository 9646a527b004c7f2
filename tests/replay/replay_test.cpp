// Replayed times against closed forms, and against the numbers of the timeline picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ringside/error.h"
#include "ringside/timeline.h"
#include "support/example_traces.h"
#include "support/trace_builder.h"

namespace ringside {
namespace {

using test::TraceBuilder;

constexpr double kMillisecond = 1e-3;

const TimelineEntry& entry_of(const Timeline& timeline, OpId op) {
  return *std::find_if(timeline.entries.begin(), timeline.entries.end(),
                       [&](const TimelineEntry& entry) { return entry.op == op; });
}

TEST(Replay, RingAllReduceHasItsClosedForm) {
  for (const int ranks : {2, 3, 4, 8}) {
    const std::size_t count = 840 * 16;
    Rates rates;
    rates.link_latency = 7e-6;
    rates.link_bytes_per_second = 3e9;
    const Timeline timeline = replay(test::collective_trace(ranks, count), rates, 0);
    ASSERT_EQ(timeline.entries.size(), static_cast<std::size_t>(ranks));
    const auto chunk = 4.0 * static_cast<double>(count) / ranks;  // cut without remainder
    const double expected = 2 * (ranks - 1) * (7e-6 + chunk / 3e9);
    for (const TimelineEntry& entry : timeline.entries) {
      EXPECT_EQ(entry.start, 0);
      EXPECT_NEAR(entry.end, expected, 1e-15);
    }
  }
}

TEST(Replay, OneRankAloneCommunicatesInNoTime) {
  const Timeline timeline = replay(test::collective_trace(1, 100), Rates(), 0);
  EXPECT_EQ(timeline.end(), 0);
}

// The DDP step of the timeline picture: buckets of 4, 28 and 8 MiB beside backward.
TEST(Replay, OverlapHasTheNumbersOfThePicture) {
  const Trace trace = test::overlap_trace();
  const Timeline timeline = replay(trace, test::overlap_rates(), 0);
  const std::vector<double> ready_slow = {6.6, 14.3, 16.5};
  const std::vector<double> ready_others = {6.0, 13.0, 15.0};
  const std::vector<double> start = {6.6, 14.3, 18.754};
  const std::vector<double> length = {0.679, 4.454, 1.308};
  for (const TraceOp& op : trace.ops) {
    if (op.kind != OpKind::kCollective) continue;
    const auto bucket = static_cast<std::size_t>(op.bucket);
    const TimelineEntry& entry = entry_of(timeline, op.id);
    EXPECT_NEAR(entry.start / kMillisecond, start[bucket], 1e-3);
    EXPECT_NEAR((entry.end - entry.start) / kMillisecond, length[bucket], 1e-3);
    EXPECT_NEAR(entry.ready / kMillisecond, (op.rank == 2 ? ready_slow : ready_others)[bucket],
                1e-9);
  }
  const StepTimes times = step_times(trace, timeline);
  EXPECT_NEAR(times.total / kMillisecond, 20.83, 0.01);
  EXPECT_NEAR(times.communication / kMillisecond, 0.679 + 4.454 + 1.308, 2e-3);
  EXPECT_NEAR(times.exposed / kMillisecond, 3.56, 0.005);
  EXPECT_NEAR(times.hidden + times.exposed, times.communication, 1e-15);
}

TEST(Replay, IsTheSameEveryTime) {
  const Trace trace = test::data_parallel_trace();
  EXPECT_EQ(replay(trace, Rates(), 0), replay(trace, Rates(), 0));
}

// Whatever the trace: an op starts after all it waits for, streams run one op at a time.
TEST(Replay, KeepsDependenciesAndStreamOrder) {
  for (const Trace& trace :
       {test::data_parallel_trace(), test::ddp_trace(), test::overlap_trace()}) {
    const Timeline timeline = replay(trace, Rates(), 0);
    ASSERT_EQ(timeline.entries.size(), trace.ops.size());
    std::map<std::pair<int, StreamKind>, double> stream_end;
    for (const TraceOp& op : trace.ops) {
      const TimelineEntry& entry = timeline.entries[static_cast<std::size_t>(op.id)];
      EXPECT_EQ(entry.op, op.id);
      EXPECT_LE(entry.ready, entry.start);
      EXPECT_LE(entry.start, entry.end);
      for (const OpId dependency : op.dependencies) {
        EXPECT_GE(entry.start, timeline.entries[static_cast<std::size_t>(dependency)].end);
      }
      if (!op.stream) continue;
      double& end = stream_end[{op.rank, *op.stream}];
      EXPECT_GE(entry.start, end);
      end = entry.end;
    }
  }
}

TEST(Replay, CostsFollowTheRates) {
  TraceBuilder builder(2);
  builder.at(0, Phase::kLoad);
  const OpId host = builder.host(0, "read-batch");
  const OpId copy = builder.copy_from_host(0, TraceBuilder::tensor("x", {1000}));
  builder.at(0, Phase::kForward);
  const OpId arithmetic = builder.compute(0, "linear", "0", 1e6, {}, {});
  const OpId memory = builder.compute(0, "relu", "1", 0, {TraceBuilder::tensor("x", {1000})},
                                      {TraceBuilder::tensor("y", {1000})});
  const OpId slow = builder.compute(1, "linear", "0", 1e6, {}, {});
  const Trace trace = builder.finish();
  Rates rates;
  rates.rank_slowdown = {1, 2};
  const Timeline timeline = replay(trace, rates, 0);
  const auto seconds = [&](OpId id) {
    const TimelineEntry& entry = entry_of(timeline, id);
    return entry.end - entry.start;
  };
  EXPECT_NEAR(seconds(host), 20e-6, 1e-15);
  EXPECT_NEAR(seconds(copy), 10e-6 + 4000 / 12e9, 1e-15);
  EXPECT_NEAR(seconds(arithmetic), 5e-6 + 1e6 / 10e12, 1e-15);
  EXPECT_NEAR(seconds(memory), 5e-6 + 8000 / 500e9, 1e-15);
  EXPECT_NEAR(seconds(slow), 2 * (5e-6 + 1e6 / 10e12), 1e-15);
}

TEST(Replay, AStepBeginsWhenTheOneBeforeHasEnded) {
  TraceBuilder builder(1);
  builder.at(-1, Phase::kSetup).compute(0, "fill", "", 1e9, {}, {});
  builder.at(0, Phase::kForward).compute(0, "linear", "", 1e9, {}, {});
  builder.at(1, Phase::kForward).compute(0, "linear", "", 1e9, {}, {});
  const Trace trace = builder.finish();
  const Timeline second = replay(trace, Rates(), 1);
  ASSERT_EQ(second.entries.size(), 1U);
  EXPECT_EQ(second.entries[0].op, 2);
  EXPECT_EQ(second.entries[0].start, 0);
  const Timeline all = replay(trace, Rates(), -1);
  ASSERT_EQ(all.entries.size(), 2U);  // the steps, without what was before them
  EXPECT_EQ(all.entries[1].start, all.entries[0].end);
  EXPECT_TRUE(replay(trace, Rates(), 7).entries.empty());
}

TEST(Replay, RanksThatCallInAnotherOrderAreReported) {
  TraceBuilder builder(2);
  ScheduleRequest request;
  request.ranks = 2;
  request.count = 8;
  builder.at(0, Phase::kAllReduce);
  for (const auto& [rank, sequence] : {std::pair(0, 0), {0, 1}, {1, 1}, {1, 0}}) {
    builder.collective(rank, request, ReduceOp::kSum, sequence, {}, {});
  }
  try {
    replay(builder.finish(), Rates(), 0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
    EXPECT_NE(std::string(error.what()).find("ops[0] (all-reduce of rank 0) never starts"),
              std::string::npos)
        << error.what();
  }
}

TEST(Replay, RefusesRatesThatAreNone) {
  Rates rates;
  rates.link_bytes_per_second = 0;
  EXPECT_THROW(replay(test::ddp_trace(), rates, 0), Error);
  rates = {};
  rates.host_op = -1;
  EXPECT_THROW(replay(test::ddp_trace(), rates, 0), Error);
}

TEST(Replay, AHugeCollectiveIsRefusedNotExpanded) {
  Trace trace = test::collective_trace(2, 8);
  TraceCollective& collective = *trace.ops[0].collective;
  collective.request.ranks = 100000;
  trace.ops.pop_back();
  EXPECT_THROW(replay(trace, Rates(), 0), Error);
}

}  // namespace
}  // namespace ringside
