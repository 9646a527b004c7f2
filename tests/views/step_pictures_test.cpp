// The data-flow pictures of a step: their DOT texts, what is idle, what frames keep.

#include <gtest/gtest.h>

#include <algorithm>

#include "ringside/error.h"
#include "ringside/views.h"
#include "support/example_traces.h"
#include "views/buckets.h"
#include "views/dot_nodes.h"
#include "views/golden.h"
#include "views/step_traces.h"

namespace ringside {
namespace {

using test::attribute;
using test::DotText;
using test::label;
using test::read_dot;

std::vector<Picture> draw(const Trace& trace, std::string_view phase = "",
                          const DrawOptions& options = {}) {
  return draw_step(trace, trace.steps().front(), phase, options);
}

std::vector<std::string> names(const std::vector<Picture>& pictures) {
  std::vector<std::string> result;
  result.reserve(pictures.size());
  for (const Picture& picture : pictures) result.push_back(picture.name);
  return result;
}

TEST(StepPictures, OfDataParallelAreGolden) {
  const std::vector<Picture> pictures = draw(test::data_parallel_trace());
  EXPECT_EQ(names(pictures),
            (std::vector<std::string>{"step0", "step0-load", "step0-scatter-input",
                                      "step0-replicate", "step0-forward", "step0-gather-output",
                                      "step0-loss", "step0-scatter-grad", "step0-backward",
                                      "step0-reduce-grad", "step0-update"}));
  test::expect_golden(pictures[0], "dp-step");
  test::expect_golden(pictures[3], "dp-step-replicate");
  DrawOptions dark;
  dark.theme = Theme::kDark;
  test::expect_golden(draw(test::data_parallel_trace(), "", dark)[0], "dp-step-dark");
}

TEST(StepPictures, OfDdpAreGolden) {
  const std::vector<Picture> pictures = draw(test::ddp_trace());
  EXPECT_EQ(names(pictures),
            (std::vector<std::string>{"step0", "step0-load", "step0-forward", "step0-loss",
                                      "step0-backward-0", "step0-all-reduce-0", "step0-backward-1",
                                      "step0-all-reduce-1", "step0-backward-2",
                                      "step0-all-reduce-2", "step0-update", "step0-timeline"}));
  test::expect_golden(pictures[0], "ddp-step");
  test::expect_golden(pictures[5], "ddp-step-all-reduce-0");
}

TEST(StepPictures, OfASingleDeviceAreGolden) {
  const std::vector<Picture> pictures = draw(test::single_case());
  EXPECT_EQ(pictures.size(), 6U);
  test::expect_golden(pictures[0], "single-step");
}

TEST(StepPictures, SayTheirPointInOneSentence) {
  EXPECT_EQ(draw(test::data_parallel_trace())[0].caption,
            "mlp:64,32,10, batch 64, float32. 74.0 kB move between devices in this step, all of it "
            "from or to device 0.");
  EXPECT_EQ(draw(test::ddp_trace())[0].caption,
            "mlp:64,32,32,10, rows per rank: 16, float32. 13.9 kB of gradients in 3 buckets; a "
            "rank sends 20.8 kB, 1.5 times as much.");
}

TEST(StepPictures, TakeShapesAndBytesFromTheTrace) {
  // 10 rows of 64 float32 on 4 devices are 3, 3, 3, 1: 768, 768 and 256 bytes leave device 0.
  const Picture whole = draw(test::data_parallel_case({}))[0];
  const DotText dot = read_dot(whole.dot);
  EXPECT_EQ(label(dot, "load_0"), "X&#160; 10×64\\nW&#160; 4.000 MB");
  EXPECT_EQ(label(dot, "scatter_input_0"), "x₀&#160; 3×64");
  EXPECT_EQ(label(dot, "scatter_input_3"), "x₃&#160; 1×64");
  EXPECT_NE(whole.dot.find("label=\"&#160; 768 B\""), std::string::npos);
  EXPECT_NE(whole.dot.find("label=\"&#160; 256 B\""), std::string::npos);
  EXPECT_NE(whole.dot.find("1.792 kB in 3 messages"), std::string::npos);
  EXPECT_NE(whole.dot.find("3 × 4.000 MB"), std::string::npos);
}

TEST(StepPictures, ShowAPartOfTheBatchAsItArrives) {
  // The network's first op reads the rows as images.
  Trace trace = test::data_parallel_case({});
  for (TraceOp& op : trace.ops) {
    if (op.phase != Phase::kForward || op.kind != OpKind::kCompute) continue;
    for (TraceTensor& tensor : op.reads) {
      if (tensor.shape.rank() == 2) tensor.shape = Shape{tensor.shape[0], 1, 8, 8};
    }
  }
  const DotText dot = read_dot(draw(trace)[0].dot);
  EXPECT_EQ(label(dot, "scatter_input_0"), "x₀&#160; 3×64");
  EXPECT_EQ(label(dot, "scatter_input_3"), "x₃&#160; 1×64");
}

TEST(StepPictures, DrawADeviceWithoutAPartIdleThroughTheWholeStep) {
  test::DataParallelCase what;
  what.rows = {4, 4, 2};
  const Picture whole = draw(test::data_parallel_case(what))[0];
  const DotText dot = read_dot(whole.dot);
  for (const char* row : {"scatter_input", "replicate", "forward", "gather_output", "loss",
                          "scatter_grad", "backward", "reduce_grad", "update"}) {
    const std::string node = std::string(row) + "_3";
    EXPECT_EQ(label(dot, node), "idle") << node;
    EXPECT_EQ(attribute(dot.nodes.at(node), "class"), "idle") << node;
  }
  EXPECT_EQ(label(dot, "update_1"), "copy is freed");
  EXPECT_EQ(draw(test::data_parallel_case(what), "scatter-input").front().caption,
            "Device 0 sends each of 3 devices its part of the batch (4, 4, 2 rows): 1.536 kB in "
            "all.");
  EXPECT_TRUE(whole.caption.ends_with("Device 3 has nothing to do.")) << whole.caption;
}

TEST(StepPictures, ShowTheTargetsThatHomeSendsToTheOutputDevice) {
  Trace trace = test::data_parallel_case({.output_device = 2});
  ScheduleRequest request;
  request.algorithm = Algorithm::kStar;
  request.ranks = 2;
  request.peer = 1;
  request.count = 10;
  request.dtype = DType::kInt64;
  for (const auto& [kind, rank] : {std::pair(OpKind::kSend, 0), std::pair(OpKind::kRecv, 2)}) {
    TraceOp op = trace.ops.back();
    op.id = static_cast<OpId>(trace.ops.size());
    op.kind = kind;
    op.phase = Phase::kLoss;
    op.rank = rank;
    op.collective = TraceCollective{};
    op.collective->request = request;
    op.collective->request.operation = rank == 0 ? Operation::kSend : Operation::kRecv;
    op.collective->rank = rank / 2;
    op.collective->communicator = 9;
    op.collective->world_ranks = {0, 2};
    trace.ops.push_back(op);
  }
  const DotText dot = read_dot(draw(trace)[0].dot);
  EXPECT_EQ(label(dot, "gather_output_0"), "y₀\\nT (targets)");
  EXPECT_EQ(label(dot, "gather_output_1"), "y₁");
  EXPECT_EQ(label(dot, "loss_0"), "idle");
  EXPECT_EQ(draw_step(trace, 2, "loss", {}).front().caption,
            "Device 2 computes the loss of the whole batch with 80 B of targets from device 0; the "
            "others are idle.");
}

// With a process for each rank, each has the ops of its own rank alone.
TEST(StepPictures, DoNotCallARankIdleThatIsNotInTheTrace) {
  Trace trace = test::ddp_case(3, 1);
  std::erase_if(trace.ops, [](const TraceOp& op) { return op.rank != 0; });
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    trace.ops[i].id = static_cast<OpId>(i);
    trace.ops[i].dependencies.clear();
  }
  const std::string whole = draw(trace).front().dot;
  EXPECT_EQ(whole.find(">idle<"), std::string::npos) << whole;
  EXPECT_NE(whole.find("not recorded"), std::string::npos) << whole;
}

TEST(StepPictures, SayThatOnlyTheOrderOfBucketsIsSentInForward) {
  Trace trace = test::ddp_case(2, 1);
  const auto forward = std::find_if(trace.ops.begin(), trace.ops.end(),
                                    [](const TraceOp& op) { return op.phase == Phase::kForward; });
  ASSERT_NE(forward, trace.ops.end());
  const auto collective = std::find_if(trace.ops.begin(), trace.ops.end(),
                                       [](const TraceOp& op) { return op.collective.has_value(); });
  ASSERT_NE(collective, trace.ops.end());
  const auto caption_of_forward = [&] {
    return draw_step(trace, 2, "forward", {}).front().caption;
  };
  EXPECT_NE(caption_of_forward().find("nothing is sent"), std::string::npos);
  collective->phase = Phase::kForward;
  collective->bucket = -1;
  collective->collective->request.operation = Operation::kBroadcast;
  EXPECT_NE(caption_of_forward().find("only the new order of the buckets"), std::string::npos)
      << caption_of_forward();
}

TEST(StepPictures, SayHowMuchARankSends) {
  const auto caption = [](int ranks) { return draw(test::ddp_case(ranks, 1))[0].caption; };
  EXPECT_TRUE(caption(2).ends_with("a rank sends 400 kB, just as much.")) << caption(2);
  EXPECT_TRUE(caption(4).ends_with("a rank sends 600 kB, 1.5 times as much.")) << caption(4);
}

TEST(StepPictures, NumberChunksInTheOrderOfTheDeviceIds) {
  test::DataParallelCase what;
  what.device_ids = {2, 0};
  what.output_device = 3;
  what.rows = {8, 8};
  const Picture whole = draw(test::data_parallel_case(what))[0];
  const DotText dot = read_dot(whole.dot);
  EXPECT_EQ(label(dot, "forward_2"), "y₀ = f(x₀)");
  EXPECT_EQ(label(dot, "forward_0"), "y₁ = f(x₁)");
  EXPECT_EQ(label(dot, "forward_1"), "idle");
  EXPECT_EQ(label(dot, "gather_output_3"), "Y&#160; 16×10");
  EXPECT_EQ(label(dot, "update_2"), "W ← W − η · dW");
  EXPECT_NE(whole.dot.find("device 2 = device_ids[0]"), std::string::npos);
  EXPECT_NE(whole.dot.find("device 3 = output_device"), std::string::npos);
}

TEST(StepPictures, TellTheParametersOfABucketFromItsOps) {
  const Picture whole = draw(test::ddp_case(2, 2))[0];
  EXPECT_NE(whole.dot.find("features.conv2.weight"), std::string::npos);
  EXPECT_EQ(label(read_dot(whole.dot), "backward_0_1"), "dW₁ → bucket 0\\n400 kB");
}

// Two buckets of which the first is never complete and the second is.
Trace unused_parameter_case() {
  Trace trace = test::ddp_case(2, 2);
  trace.run.buckets = {{400'000, {"features.conv2.weight", "unused.weight"}},
                       {800'000, {"features.conv1.weight"}}};
  for (TraceOp& op : trace.ops) {
    if (op.kind != OpKind::kCollective) continue;
    op.kind = OpKind::kHost;
    op.collective.reset();
    op.bucket = -1;
  }
  return trace;
}

TEST(StepPictures, TellWhichBucketWaitsForWhat) {
  const std::vector<Picture> pictures = draw_step(unused_parameter_case(), 2, "", {});
  const auto caption = [&](std::string_view name) -> std::string {
    for (const Picture& picture : pictures) {
      if (picture.name == name) return picture.caption;
    }
    return "no picture " + std::string(name);
  };
  EXPECT_NE(caption("step2").find("0 of 2 buckets averaged: bucket 0 waits for unused.weight."),
            std::string::npos)
      << caption("step2");
  EXPECT_EQ(
      caption("step2-all-reduce-0"),
      "Bucket 0, 400 kB, is not averaged: it waits for unused.weight, which got no gradient.");
  EXPECT_EQ(caption("step2-all-reduce-1"),
            "Bucket 1, 800 kB, is not averaged: it waits for bucket 0.");
  EXPECT_TRUE(
      caption("step2-timeline").ends_with(" Buckets 0, 1 wait for gradients that never come."))
      << caption("step2-timeline");
  EXPECT_EQ(caption("step2-update"),
            "Every rank updates with gradients that were not averaged: the replicas differ now.");
}

TEST(StepPictures, TellOfASecondBackwardThatNobodyAverages) {
  Trace trace = test::ddp_case(2, 2);
  const auto update_caption = [&] { return draw_step(trace, 2, "update", {}).front().caption; };
  EXPECT_EQ(update_caption(), "Every rank makes the same update, so the replicas stay equal.");
  TraceOp wait;
  wait.kind = OpKind::kWait;
  wait.name = "wait-event";
  wait.step = 2;
  wait.phase = Phase::kFinalize;
  TraceOp backward = wait;
  backward.kind = OpKind::kCompute;
  backward.name = "linear-backward-weight";
  backward.phase = Phase::kBackward;
  for (const TraceOp& op : {wait, backward}) {
    trace.ops.push_back(op);
    trace.ops.back().id = static_cast<OpId>(trace.ops.size() - 1);
  }
  EXPECT_EQ(update_caption(),
            "A second backward has added to the averages what nobody averaged: the replicas differ "
            "now.");
}

TEST(StepPictures, TellWhatElseRanksExchange) {
  Trace trace = test::ddp_case(2, 1);
  const auto add = [&](Phase phase, Operation operation, DType dtype, std::size_t count) {
    const auto sequence = static_cast<std::int64_t>(1000 + trace.ops.size());
    for (int rank = 0; rank < 2; ++rank) {
      TraceOp op;
      op.kind = OpKind::kCollective;
      op.name = to_string(operation);
      op.step = 2;
      op.phase = phase;
      op.rank = rank;
      op.stream = StreamKind::kCommunication;
      op.collective = TraceCollective{};
      op.collective->request.operation = operation;
      op.collective->request.algorithm = algorithms_for(operation).front();
      op.collective->request.dtype = dtype;
      op.collective->request.count = count;
      op.collective->request.ranks = 2;
      op.collective->sequence = sequence;
      op.collective->rank = rank;
      op.collective->world_ranks = {0, 1};
      op.id = static_cast<OpId>(trace.ops.size());
      trace.ops.push_back(op);
    }
  };
  add(Phase::kForward, Operation::kAllGather, DType::kFloat32, 65);
  add(Phase::kForward, Operation::kAllReduce, DType::kFloat64, 1);
  add(Phase::kBackward, Operation::kAllReduce, DType::kFloat32, 64);
  add(Phase::kAllReduce, Operation::kAllReduce, DType::kInt32, 6);
  add(Phase::kSyncBuffers, Operation::kAllReduce, DType::kFloat64, 1);
  const auto caption = [&](std::string_view phase) {
    return draw_step(trace, 2, std::string(phase), {}).front().caption;
  };
  EXPECT_EQ(caption("forward"),
            "Every rank computes on its own rows; only SyncBatchNorm gathers the statistics of all "
            "rows, 520 B in all; the ranks agree whether they average this time, 16 B in all.");
  EXPECT_TRUE(
      caption("backward")
          .ends_with(
              " SyncBatchNorm sums gradients of its statistics over the ranks: 512 B in all."))
      << caption("backward");
  EXPECT_TRUE(
      caption("all-reduce").ends_with(" The map of used parameters is summed, too: 48 B in all."))
      << caption("all-reduce");
  EXPECT_TRUE(
      caption("sync-buffers").starts_with("The ranks count who still has batches: 16 B in all."))
      << caption("sync-buffers");
}

// A hook that sends 16 bits does not make other buckets of them.
TEST(StepPictures, TellWhichBucketWaitsWhenTheOthersAreCompressed) {
  Trace trace = unused_parameter_case();
  for (TraceOp& op : trace.ops) {
    if (op.kind != OpKind::kHost || op.phase != Phase::kAllReduce) continue;
    op.kind = OpKind::kCollective;
    op.bucket = 0;
    op.collective = TraceCollective{};
    op.collective->request.count = 100'000;
    op.collective->request.dtype = DType::kFloat16;
    op.collective->request.ranks = 2;
    op.collective->rank = op.rank;
    op.collective->world_ranks = {0, 1};
    break;
  }
  const std::vector<WaitingBucket> waiting = waiting_buckets(trace, 2);
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting.front().number, 1);
}

TEST(StepPictures, TakeNoRankThatIsNotRecordedForOneWithoutGradients) {
  Trace trace = unused_parameter_case();
  std::erase_if(trace.ops, [](const TraceOp& op) { return op.rank != 0; });
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    trace.ops[i].id = static_cast<OpId>(i);
    trace.ops[i].dependencies.clear();
  }
  const std::string caption = draw(trace).front().caption;
  EXPECT_NE(caption.find("bucket 0 waits for unused.weight."), std::string::npos) << caption;
}

TEST(StepPictures, JoinTheMiddleBucketsWhereThereAreMany) {
  const std::vector<std::string> all = names(draw(test::ddp_case(2, 9)));
  EXPECT_NE(std::find(all.begin(), all.end(), "step2-all-reduce-4-7"), all.end());
  EXPECT_NE(std::find(all.begin(), all.end(), "step2-all-reduce-8"), all.end());
  EXPECT_EQ(std::find(all.begin(), all.end(), "step2-all-reduce-5"), all.end());
}

TEST(StepPictures, LeaveOutLanesAndSaySo) {
  const DotText dot = read_dot(draw(test::ddp_case(12, 1))[0].dot);
  EXPECT_TRUE(dot.nodes.contains("forward_5"));
  EXPECT_FALSE(dot.nodes.contains("forward_6"));
  EXPECT_TRUE(dot.nodes.contains("forward_11"));
  EXPECT_EQ(label(dot, "forward_more"), "× 5");
  EXPECT_NE(draw(test::ddp_case(12, 1))[0].dot.find("… 5 more"), std::string::npos);
  EXPECT_TRUE(read_dot(draw(test::ddp_case(8, 1))[0].dot).nodes.contains("forward_7"));
}

class Frames : public testing::TestWithParam<const char*> {};

TEST_P(Frames, KeepEveryNodeAndEdgeOfTheWhole) {
  const std::string what = GetParam();
  const Trace trace = what == "dp"    ? test::data_parallel_case({})
                      : what == "ddp" ? test::ddp_case(12, 3)
                      : what == "ps"  ? test::parameter_server_case({.workers = 3})
                                      : test::single_case();
  const std::vector<Picture> pictures = draw(trace);
  const DotText whole = read_dot(pictures[0].dot);
  ASSERT_GT(whole.nodes.size(), 9U);
  for (const Picture& picture : pictures) {
    if (picture.layout != "dot") continue;
    const DotText frame = read_dot(picture.dot);
    EXPECT_EQ(frame.edges, whole.edges) << picture.name;
    ASSERT_EQ(frame.nodes.size(), whole.nodes.size()) << picture.name;
    for (const auto& [id, attributes] : whole.nodes) {
      ASSERT_TRUE(frame.nodes.contains(id)) << picture.name << ": " << id;
      EXPECT_EQ(attribute(frame.nodes.at(id), "width"), attribute(attributes, "width")) << id;
      EXPECT_EQ(attribute(frame.nodes.at(id), "height"), attribute(attributes, "height")) << id;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Strategies, Frames, testing::Values("single", "dp", "ddp", "ps"),
                         [](const auto& param) { return std::string(param.param); });

TEST(Frames, HideTheFutureAndPaleThePast) {
  const std::vector<Picture> frames = draw(test::data_parallel_trace(), "forward");
  ASSERT_EQ(frames.size(), 1U);
  const DotText dot = read_dot(frames[0].dot);
  EXPECT_EQ(attribute(dot.nodes.at("replicate_1"), "class"), "comm past");
  EXPECT_EQ(attribute(dot.nodes.at("forward_1"), "class"), "compute now");
  EXPECT_EQ(attribute(dot.nodes.at("loss_0"), "style"), "invis");
  EXPECT_EQ(frames[0].caption, "4 of 4 devices compute, each on its part.");
}

TEST(StepPictures, KeepUserTextsFromBecomingMarkup) {
  Trace trace = test::ddp_case(2, 1);
  trace.run.model = R"(a"b\c<d>&amp;)"
                    "\n模型";
  for (TraceOp& op : trace.ops) {
    if (op.name == "copy-to-bucket") op.label = R"("<b>&\)";
  }
  const Picture whole = draw(trace)[0];
  EXPECT_NE(whole.dot.find("a&quot;b\\c&lt;d&gt;&amp;amp; 模型"), std::string::npos) << whole.dot;
  EXPECT_NE(whole.dot.find(R"(on rank 0: \"<b>&amp;\\")"), std::string::npos) << whole.dot;
}

TEST(StepPictures, NameTheStepsAndPhasesThatAreThere) {
  const Trace trace = test::data_parallel_trace();
  try {
    draw_step(trace, 7, "", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "step 7: the trace has step 0");
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
  }
  try {
    draw(trace, "sync-buffers");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("replicate"), std::string::npos) << error.what();
  }
  EXPECT_THROW(draw_step(test::collective_trace(), 0, "", {}), Error);
}

}  // namespace
}  // namespace ringside
