// The table of a step: what moved, where; against numbers counted by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ringside/error.h"
#include "ringside/trace.h"
#include "support/example_traces.h"
#include "support/trace_builder.h"

namespace ringside {
namespace {

using test::TraceBuilder;

std::vector<std::string> lines(const std::vector<TransferRow>& rows) {
  std::vector<std::string> result;
  result.reserve(rows.size());
  for (const TransferRow& row : rows) {
    result.push_back(fmt::format("{}: {} {} -> {}, {} messages, {} bytes", to_string(row.phase),
                                 row.primitive, row.from, row.to, row.messages, row.bytes));
  }
  return result;
}

TEST(Transfers, OfADataParallelStep) {
  // input 16x64, parameters 2048 + 32 + 320 + 10, output 16x10 elements of 4 bytes; 3 other devices
  EXPECT_EQ(lines(transfers(test::data_parallel_trace(), 0)),
            (std::vector<std::string>{"load: copy host -> 0, 2 messages, 16896 bytes",
                                      "scatter-input: scatter 0 -> all, 3 messages, 12288 bytes",
                                      "replicate: broadcast 0 -> all, 12 messages, 28920 bytes",
                                      "gather-output: gather all -> 0, 3 messages, 1920 bytes",
                                      "scatter-grad: scatter 0 -> all, 3 messages, 1920 bytes",
                                      "reduce-grad: reduce all -> 0, 12 messages, 28920 bytes"}));
}

TEST(Transfers, OfADdpStep) {
  // A ring all-reduce sends 2 (n - 1) times the buffer in 2 n (n - 1) messages, border rounding
  // apart.
  EXPECT_EQ(lines(transfers(test::ddp_trace(), 0)),
            (std::vector<std::string>{
                "load: copy host -> 0, 2 messages, 4224 bytes",
                "load: copy host -> 1, 2 messages, 4224 bytes",
                "load: copy host -> 2, 2 messages, 4224 bytes",
                "load: copy host -> 3, 2 messages, 4224 bytes",
                "all-reduce: all-reduce (bucket 0) all -> all, 24 messages, 7920 bytes",
                "all-reduce: all-reduce (bucket 1) all -> all, 24 messages, 25344 bytes",
                "all-reduce: all-reduce (bucket 2) all -> all, 24 messages, 49920 bytes"}));
}

TEST(Transfers, CountMessagesBetweenTwoRanksOnce) {
  TraceBuilder builder(3);
  builder.at(0, Phase::kForward);
  ScheduleRequest request;
  request.ranks = 3;
  request.count = 5;
  request.root = 2;
  request.peer = 1;
  request.operation = Operation::kSend;
  builder.collective(2, request, ReduceOp::kSum, 0, {}, {});
  request.operation = Operation::kRecv;
  builder.collective(1, request, ReduceOp::kSum, 0, {}, {});
  EXPECT_EQ(lines(transfers(builder.finish(), 0)),
            (std::vector<std::string>{"forward: send 2 -> 1, 1 messages, 20 bytes"}));
}

TEST(Transfers, NameTheRanksOfASubset) {
  Trace trace = test::collective_trace(2, 8);
  trace.run.devices = 4;
  for (TraceOp& op : trace.ops) {
    op.collective->world_ranks = {0, 3};
    op.rank = op.collective->world_ranks[static_cast<std::size_t>(op.collective->rank)];
  }
  const std::vector<TransferRow> rows = transfers(trace, 0);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].from, "0, 3");
  const Schedule schedule = expand(*trace.ops[1].collective);
  EXPECT_EQ(schedule.rounds[0][0].source + schedule.rounds[0][0].destination, 3);
}

TEST(Transfers, OfCopiesBetweenDevicesAndToTheHost) {
  TraceBuilder builder(2);
  builder.at(0, Phase::kForward);
  builder.copy_from_host(0, TraceBuilder::tensor("x", {2}));
  Trace trace = builder.finish();
  TraceOp copy = trace.ops[0];
  copy.peer = 1;
  EXPECT_EQ(lines(transfers({trace.run, {copy}, {}}, 0)),
            (std::vector<std::string>{"forward: copy 1 -> 0, 1 messages, 8 bytes"}));
  copy.peer = -1;
  std::swap(copy.reads, copy.writes);
  EXPECT_EQ(lines(transfers({trace.run, {copy}, {}}, 0)),
            (std::vector<std::string>{"forward: copy 0 -> host, 1 messages, 8 bytes"}));
  copy.writes = copy.reads;  // stays on the device
  EXPECT_TRUE(transfers({trace.run, {copy}, {}}, 0).empty());
}

TEST(Transfers, OfAnotherStepAreNone) { EXPECT_TRUE(transfers(test::ddp_trace(), 1).empty()); }

TEST(Trace, KnowsItsSteps) {
  EXPECT_EQ(test::ddp_trace().steps(), std::vector<int>{0});
  TraceBuilder builder(1);
  for (const int step : {-1, 3, 3, 4}) {
    builder.at(step, Phase::kForward).compute(0, "linear", "", 0, {}, {});
  }
  EXPECT_EQ(builder.finish().steps(), (std::vector<int>{3, 4}));
}

}  // namespace
}  // namespace ringside
