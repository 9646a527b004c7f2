// The timeline picture: times as places, what is told of them, and labels that keep apart.

#include <gtest/gtest.h>

#include "ringside/views.h"
#include "support/example_traces.h"
#include "support/trace_builder.h"
#include "views/dot_nodes.h"
#include "views/golden.h"
#include "views/label_places.h"
#include "views/step_traces.h"
#include "views/time_axis.h"

namespace ringside {
namespace {

using test::attribute;
using test::DotText;
using test::read_dot;

Picture overlap_picture() {
  const Trace trace = test::overlap_trace();
  return draw_timeline(trace, replay(trace, test::overlap_rates(), 0), 0, {});
}

double x_of(const DotText& dot, const std::string& id) {
  return std::stod(attribute(dot.nodes.at(id), "pos"));
}

TEST(TimelinePicture, OfTheExampleIsGolden) { test::expect_golden(overlap_picture(), "timeline"); }

TEST(TimelinePicture, OfARealDdpStepIsGolden) {
  test::expect_golden(draw_step(test::ddp_trace(), 0, "", {}).back(), "ddp-step-timeline");
}

TEST(TimelinePicture, TellsWhatIsHidden) {
  EXPECT_EQ(
      overlap_picture().caption,
      "Communication takes 6.44 ms; 2.88 ms of it hides behind computing, 3.56 ms does not. "
      "Step: 20.8 ms, without overlap 23.7 ms. Bucket 2 waits longest: 2.25 ms for bucket 1.");
}

TEST(TimelinePicture, TellsWhichRankABucketWaitsFor) {
  // The link is so fast that no bucket waits for the one before, and rank 2 ten percent slower.
  const Trace trace = test::overlap_trace();
  Rates rates = test::overlap_rates();
  rates.link_bytes_per_second *= 1000;
  const std::string caption = draw_timeline(trace, replay(trace, rates, 0), 0, {}).caption;
  EXPECT_NE(caption.find(" Bucket 2 waits longest: 1.5 ms for rank 2."), std::string::npos)
      << caption;
}

TEST(TimelinePicture, TellsOfABucketThatWaitsForACollectiveWithoutOne) {
  TraceRun run;
  run.strategy = "ddp";
  run.devices = 2;
  test::TraceBuilder builder(run);
  ScheduleRequest request;
  request.ranks = 2;
  request.count = 1'000'000;
  for (int rank = 0; rank < 2; ++rank) {
    builder.at(0, Phase::kSyncBuffers);
    request.operation = Operation::kBroadcast;
    builder.collective(rank, request, ReduceOp::kSum, 1, {}, {});
    builder.at(0, Phase::kBackward);
    builder.compute(rank, "linear-backward-weight", "0", 1e9, {}, {});
    builder.at(0, Phase::kAllReduce, "main", 0);
    builder.wait(rank, StreamKind::kCommunication, builder.last(rank, StreamKind::kCompute));
    request.operation = Operation::kAllReduce;
    builder.collective(rank, request, ReduceOp::kAvg, 2, {}, {});
  }
  Rates rates;
  rates.flops_per_second = 1e12;  // the gradient is there after 1 ms
  rates.compute_overhead = 0;
  rates.link_bytes_per_second = 1e9;  // the broadcast takes 4 ms
  rates.link_latency = 0;
  const Trace trace = builder.finish();
  const std::string caption = draw_timeline(trace, replay(trace, rates, 0), 0, {}).caption;
  EXPECT_NE(caption.find(" Bucket 0 waits longest: 3 ms for the broadcast before."),
            std::string::npos)
      << caption;
}

TEST(TimelinePicture, TellsOfNoWaitWhereThereIsNone) {
  const Trace trace = test::ddp_case(4, 1);
  const std::string caption = draw_timeline(trace, replay(trace, Rates{}, 2), 2, {}).caption;
  EXPECT_EQ(caption.find("waits"), std::string::npos) << caption;
}

TEST(TimelinePicture, PutsTimesInProportion) {
  // Forward 5 ms, ten layers of 1 ms, 20.8 ms in all.
  const DotText dot = read_dot(overlap_picture().dot);
  const double forward = std::stod(attribute(dot.nodes.at("b0_0"), "width"));
  const double layer = std::stod(attribute(dot.nodes.at("b0_1"), "width"));
  EXPECT_NEAR((forward * 72 + 1) / (layer * 72 + 1), 5.0, 0.02);
  EXPECT_NEAR(x_of(dot, "b0_2") - x_of(dot, "b0_1"), layer * 72 + 1, 0.02);
  EXPECT_EQ(attribute(dot.nodes.at("b0_1"), "label"), "9");
  EXPECT_EQ(attribute(dot.nodes.at("remark2"), "label"), "10 % slower");
  EXPECT_FALSE(dot.nodes.contains("remark0"));
}

TEST(TimelinePicture, ShadesBackwardByBucketAndShowsWhoWaits) {
  const DotText dot = read_dot(overlap_picture().dot);
  const auto fill = [&](const char* id) { return attribute(dot.nodes.at(id), "fillcolor"); };
  EXPECT_NE(fill("b0_1"), fill("b0_2"));  // layer 9 is bucket 0, layer 8 is bucket 1
  EXPECT_EQ(fill("b0_2"), fill("b0_8"));
  EXPECT_NE(fill("b0_8"), fill("b0_9"));
  EXPECT_EQ(attribute(dot.nodes.at("c0_0"), "class"), "idle");
  EXPECT_EQ(attribute(dot.nodes.at("c0_0"), "tooltip"),
            "rank 0: ready at 6 ms, waits for rank 2 until 6.6 ms");
  EXPECT_EQ(attribute(dot.nodes.at("c2_0"), "class"), "comm");  // the slow rank waits for nobody
  EXPECT_NE(attribute(dot.nodes.at("c2_0"), "tooltip").find("0.68 ms"), std::string::npos);
}

TEST(TimelinePicture, DrawsNoBoxOverAGap) {
  Trace trace = test::single_case();
  TraceOp again = trace.ops.back();  // of update
  again.id = static_cast<OpId>(trace.ops.size());
  trace.ops.push_back(again);
  Timeline timeline = replay(trace, Rates{}, 2);
  const auto boxes = [&] {
    std::size_t count = 0;
    for (const auto& [id, attributes] : read_dot(draw_timeline(trace, timeline, 2, {}).dot).nodes) {
      count += attribute(attributes, "class") == "update" ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(boxes(), 1U);
  timeline.entries.back().start += 1e-3;
  timeline.entries.back().end += 1e-3;
  EXPECT_EQ(boxes(), 2U);
}

TEST(TimelinePicture, DropsTextsThatDoNotFitButKeepsThemInTooltips) {
  const DotText dot = read_dot(overlap_picture().dot);
  EXPECT_EQ(attribute(dot.nodes.at("c0_1"), "label"), "0");
  EXPECT_NE(attribute(dot.nodes.at("c0_1"), "tooltip").find("bucket 0: 4.194 MB"),
            std::string::npos);
}

TEST(TimelinePicture, HasOneWidthWhateverTheDuration) {
  const Trace trace = test::ddp_case(2, 3);
  Rates slow;
  slow.flops_per_second = 1e6;
  for (const Rates& rates : {Rates{}, slow}) {
    const Picture picture = draw_timeline(trace, replay(trace, rates, 2), 2, {});
    const DotText dot = read_dot(picture.dot);
    EXPECT_NEAR(x_of(dot, "ax1") - x_of(dot, "ax0"), 696, 0.01);
  }
  const Picture seconds = draw_timeline(trace, replay(trace, slow, 2), 2, {});
  EXPECT_NE(seconds.dot.find("label=\"0 s\""), std::string::npos);
}

TEST(TimelinePicture, LeavesOutLanesAndSaysSo) {
  const Trace trace = test::ddp_case(12, 2);
  const DotText dot = read_dot(draw_timeline(trace, replay(trace, Rates{}, 2), 2, {}).dot);
  EXPECT_TRUE(dot.nodes.contains("lane5"));
  EXPECT_FALSE(dot.nodes.contains("lane6"));
  EXPECT_TRUE(dot.nodes.contains("lane11"));
  EXPECT_EQ(attribute(dot.nodes.at("more"), "label"), "… 5 more: 6 to 10");
}

TEST(TimelinePicture, AlsoShowsDataParallel) {
  const Trace trace = test::data_parallel_trace();
  const Picture picture = draw_timeline(trace, replay(trace, Rates{}, 0), 0, {});
  EXPECT_NE(picture.caption.find("none of it hidden"), std::string::npos) << picture.caption;
  EXPECT_EQ(picture.name, "step0-timeline");
}

TEST(TimeAxis, TicksAreRoundAndFew) {
  EXPECT_DOUBLE_EQ(tick_step(20.8e-3), 2e-3);
  EXPECT_DOUBLE_EQ(tick_step(1.1), 0.1);
  EXPECT_DOUBLE_EQ(tick_step(198e-6), 20e-6);
  EXPECT_EQ(axis_unit(20.8e-3, 2e-3).name, "ms");
  EXPECT_EQ(axis_unit(20.8e-3, 2e-3).decimals, 0);
  EXPECT_EQ(axis_unit(1.1e-3, 0.1e-3).decimals, 1);
}

TEST(LabelPlaces, KeepApartAndOffOtherGuides) {
  const std::vector<LabelRequest> requests = {{100, 120}, {130, 80}, {150, 90}, {400, 60}};
  const auto places = place_labels(requests, 0, 420, 3);
  for (std::size_t i = 0; i < places.size(); ++i) {
    ASSERT_TRUE(places[i].has_value()) << i;
    const double left = places[i]->centre - requests[i].width / 2;
    const double right = places[i]->centre + requests[i].width / 2;
    EXPECT_GE(left, 0);
    EXPECT_LE(right, 420);
    for (std::size_t j = 0; j < places.size(); ++j) {
      if (i == j) continue;
      if (places[j]->tier > places[i]->tier) {
        EXPECT_TRUE(requests[j].line < left || requests[j].line > right) << i << " and " << j;
      }
      if (places[j]->tier == places[i]->tier && j > i) {
        EXPECT_TRUE(places[j]->centre - requests[j].width / 2 >= right ||
                    places[j]->centre + requests[j].width / 2 <= left)
            << i << " and " << j;
      }
    }
  }
}

TEST(LabelPlaces, LeaveOutWhatHasNoRoom) {
  const std::vector<LabelRequest> requests(9, LabelRequest{50, 90});
  const auto places = place_labels(requests, 0, 100, 3);
  EXPECT_TRUE(places[0].has_value());
  EXPECT_FALSE(places[8].has_value());
}

}  // namespace
}  // namespace ringside
