#include "ringside/timeline.h"

#include <gtest/gtest.h>

#include <string>

#include "ringside/error.h"
#include "support/example_traces.h"
#include "support/trace_builder.h"

namespace ringside {
namespace {

using test::TraceBuilder;

std::string fault_of_timeline(const std::string& json) {
  try {
    timeline_from_json(json, "t.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
    return error.what();
  }
  return "";
}

TEST(TimelineJson, RoundTrips) {
  const Timeline timeline = replay(test::ddp_trace(), Rates(), 0);
  const std::string json = timeline_to_json(timeline);
  EXPECT_EQ(timeline_from_json(json, "t.json"), timeline);
  EXPECT_EQ(timeline_to_json(timeline_from_json(json, "t.json")), json);
}

TEST(TimelineJson, HasOneEntryALine) {
  Timeline timeline;
  timeline.source = TimelineSource::kMeasured;
  timeline.machine = "sim";
  timeline.entries = {{3, 0.5, 1, 0.25, 0.125}, {4, 1, 1, 1, 0}};
  EXPECT_EQ(timeline_to_json(timeline), R"({
"ringside":"timeline",
"version":1,
"source":"measured",
"machine":"sim",
"entries":[
{"op":3,"start":0.5,"end":1,"ready":0.25,"uncertainty":0.125},
{"op":4,"start":1,"end":1,"ready":1}
]
}
)");
}

TEST(TimelineJson, FaultsAreNamedByPlace) {
  const auto file = [](const std::string& entries) {
    return R"({"ringside":"timeline","version":1,"source":"replayed","machine":"m","entries":[)" +
           entries + "]}";
  };
  EXPECT_EQ(fault_of_timeline(file("")), "");
  EXPECT_EQ(fault_of_timeline(file(R"({"op":1,"start":2,"end":1,"ready":0})")),
            "t.json: entries[0].end: 1 is before start, 2");
  EXPECT_EQ(fault_of_timeline(file(R"({"op":1,"start":2,"end":3,"ready":4})")),
            "t.json: entries[0].ready: 4 is after start, 2");
  EXPECT_EQ(fault_of_timeline(file(R"({"op":1,"start":0,"end":0,"ready":0},)"
                                   R"({"op":1,"start":0,"end":0,"ready":0})")),
            "t.json: entries[1].op: 1 after 1: must be ascending");
  EXPECT_EQ(fault_of_timeline(file(R"({"op":1,"start":"inf","end":0,"ready":0})")),
            "t.json: entries[0].start: must be a finite number");
  EXPECT_EQ(fault_of_timeline(R"({"ringside":"trace","version":1})"),
            "t.json: ringside: this is a 'trace', not a 'timeline'");
}

Trace measured_trace() {
  TraceBuilder builder(1);
  builder.at(0, Phase::kForward);
  builder.compute(0, "linear", "", 0, {}, {});
  builder.wait(0, StreamKind::kCommunication, 0);
  builder.compute(0, "relu", "", 0, {}, {});
  builder.host(0, "note");
  Trace trace = builder.finish();
  trace.run.backend = "sim";
  trace.ops[0].measured_start = 10;
  trace.ops[0].measured_end = 12;
  trace.ops[1].measured_start = 12.25;
  trace.ops[1].measured_end = 12.5;
  trace.ops[2].measured_start = 12.5;
  trace.ops[2].measured_end = 14;
  return trace;
}

TEST(MeasuredTimeline, BeginsAtZeroAndKnowsItsUncertainty) {
  const Timeline timeline = measured_timeline(measured_trace(), 0);
  EXPECT_EQ(timeline.source, TimelineSource::kMeasured);
  EXPECT_EQ(timeline.machine, "sim");
  ASSERT_EQ(timeline.entries.size(), 3U);
  EXPECT_EQ(timeline.entries[0], (TimelineEntry{0, 0, 2, 0, 0.25}));
  EXPECT_EQ(timeline.entries[1], (TimelineEntry{1, 2.25, 2.5, 2, 0.25}));
  EXPECT_EQ(timeline.entries[2], (TimelineEntry{2, 2.5, 4, 2, 0.25}));
  EXPECT_EQ(timeline.begin(), 0);
  EXPECT_EQ(timeline.end(), 4);
}

TEST(MeasuredTimeline, NeedsMeasurements) {
  EXPECT_THROW(measured_timeline(test::ddp_trace(), 0), Error);
  EXPECT_THROW(measured_timeline(measured_trace(), 1), Error);
}

TEST(StepTimes, CountOverlappingCommunicationOnce) {
  const Trace trace = test::collective_trace(2, 8);
  Trace two = trace;
  two.ops[1].rank = 0;  // two collectives on rank 0
  TraceOp compute;
  compute.id = 2;
  two.ops.push_back(compute);
  Timeline timeline;
  timeline.entries = {{0, 1, 3, 1, 0}, {1, 2, 5, 1, 0}, {2, 0, 2.5, 0, 0}};
  const StepTimes times = step_times(two, timeline);
  EXPECT_EQ(times.total, 5);
  EXPECT_EQ(times.communication, 4);
  EXPECT_EQ(times.hidden, 1.5);
  EXPECT_EQ(times.exposed, 2.5);
  EXPECT_EQ(times.rank, 0);
  EXPECT_EQ(times.exposed_parts, (std::vector<std::pair<double, double>>{{2.5, 5}}));
}

TEST(StepTimes, OfNothingAreZero) {
  const StepTimes times = step_times({}, {});
  EXPECT_EQ(times.total, 0);
  EXPECT_EQ(times.communication, 0);
  EXPECT_EQ(times.exposed, 0);
}

}  // namespace
}  // namespace ringside
