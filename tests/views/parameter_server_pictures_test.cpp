// The pictures of a parameter server's step: rows, bytes, who is idle, and the point with its
// number.
#include <gtest/gtest.h>

#include <algorithm>

#include "ringside/views.h"
#include "views/dot_nodes.h"
#include "views/golden.h"
#include "views/step_traces.h"

namespace ringside {
namespace {

using test::attribute;
using test::DotText;
using test::label;
using test::parameter_server_case;
using test::read_dot;

TraceRun::ParameterServer servers_of(int workers, int servers, bool server_updates = true) {
  TraceRun::ParameterServer who;
  who.workers = workers;
  who.servers = servers;
  who.server_updates = server_updates;
  return who;
}

std::vector<Picture> draw(const TraceRun::ParameterServer& who, const DrawOptions& options = {}) {
  return draw_step(parameter_server_case(who), 2, "", options);
}

std::vector<std::string> rows(const std::vector<Picture>& pictures) {
  std::vector<std::string> result;
  for (std::size_t i = 1; i < pictures.size(); ++i) {
    if (pictures[i].layout != "dot") continue;  // the timeline
    result.push_back(pictures[i].name.substr(std::string("step2-").size()));
  }
  return result;
}

TEST(ParameterServerPictures, AreGolden) {
  test::expect_golden(draw(servers_of(3, 1))[0], "ps-step");
  test::expect_golden(draw(servers_of(3, 1))[6], "ps-step-push");
  DrawOptions dark;
  dark.theme = Theme::kDark;
  test::expect_golden(draw(servers_of(2, 2, false), dark)[0], "ps-step-gradients-dark");
}

TEST(ParameterServerPictures, HaveARowForEachPhaseOfTheVariant) {
  EXPECT_EQ(rows(draw(servers_of(3, 1))),
            (std::vector<std::string>{"load", "pull", "forward", "loss", "backward", "push",
                                      "aggregate", "update"}));
  EXPECT_EQ(rows(draw(servers_of(3, 1, false))),
            (std::vector<std::string>{"load", "forward", "loss", "backward", "push", "aggregate",
                                      "pull", "update"}));
}

TEST(ParameterServerPictures, SayWhatGoesThroughTheServer) {
  EXPECT_EQ(draw(servers_of(3, 1))[0].caption,
            "linear, rows per worker: 16, float32. 12.0 MB go into the server and as many out of "
            "it; into and out of a rank of a ring of 3: 2(3−1)/3 times 4.000 MB, 5.333 MB.");
  EXPECT_EQ(draw(servers_of(4, 2))[0].caption,
            "linear, rows per worker: 16, float32. 8.000 MB go into each server and as many out of "
            "it; into and out of a rank of a ring of 4: 2(4−1)/4 times 4.000 MB, 6.000 MB.");
  EXPECT_EQ(draw(servers_of(1, 1))[0].caption,
            "linear, rows per worker: 16, float32. 4.000 MB go into the server and as many out of "
            "it.");
}

TEST(ParameterServerPictures, ShowWhoIsIdleAndWhoUpdates) {
  const DotText servers = read_dot(draw(servers_of(3, 1))[0].dot);
  EXPECT_EQ(label(servers, "forward_3"), "idle");
  EXPECT_EQ(label(servers, "push_0"), "sends dW₀");
  EXPECT_EQ(label(servers, "push_3"), "3 gradients");
  EXPECT_EQ(label(servers, "aggregate_3"), "dW = Σ dWᵢ / 3");
  EXPECT_EQ(attribute(servers.nodes.at("update_3"), "class"), "update");
  EXPECT_EQ(label(servers, "update_0"), "idle");
  const DotText workers = read_dot(draw(servers_of(3, 1, false))[0].dot);
  EXPECT_EQ(label(workers, "pull_0"), "dW (copy)");
  EXPECT_EQ(attribute(workers.nodes.at("update_0"), "class"), "update");
  EXPECT_EQ(label(workers, "update_3"), "idle");
}

TEST(ParameterServerPictures, LeaveOutWorkersAndServersByThemselves) {
  const DotText workers = read_dot(draw(servers_of(8, 2))[0].dot);
  for (const char* shown : {"push_3", "push_7", "push_8", "push_9"}) {
    EXPECT_TRUE(workers.nodes.contains(shown)) << shown;
  }
  EXPECT_FALSE(workers.nodes.contains("push_4"));
  EXPECT_EQ(label(workers, "push_more_workers"), "× 3");
  EXPECT_EQ(attribute(workers.nodes.at("push_more_workers"), "class"), "comm");
  EXPECT_EQ(label(workers, "push_8"), "8 gradients\\n1/2 of each");
  EXPECT_FALSE(workers.nodes.contains("push_more_servers"));

  const DotText both = read_dot(draw(servers_of(12, 8))[0].dot);
  EXPECT_EQ(label(both, "forward_more_workers"), "× 9");
  EXPECT_EQ(label(both, "update_more_servers"), "× 5");
  EXPECT_TRUE(both.nodes.contains("update_12"));
  EXPECT_TRUE(both.nodes.contains("update_19"));
}

TEST(ParameterServerPictures, DrawAnEllipsisOfServersAsServers) {
  const std::string dot = draw(servers_of(2, 8))[0].dot;
  const std::size_t begin = dot.find("cluster_lanemore_servers");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_NE(dot.substr(begin, 600).find("lane home"), std::string::npos);
  EXPECT_NE(dot.substr(begin, 600).find("… 3 more servers"), std::string::npos);
}

TEST(ParameterServerPictures, SayWhichPartOfTheWeightsAServerHas) {
  EXPECT_EQ(label(read_dot(draw(servers_of(3, 2))[0].dot), "load_3"), "1/2 of W\\n2.000 MB");
  EXPECT_EQ(label(read_dot(draw(servers_of(3, 1))[0].dot), "load_3"), "W&#160; 4.000 MB");
}

TEST(ParameterServerPictures, UpdateAsTheOptimiserDoes) {
  const auto update = [](const std::string& optimizer) {
    return label(
        read_dot(
            draw_step(parameter_server_case(servers_of(2, 1), optimizer), 2, "update", {})[0].dot),
        "update_2");
  };
  EXPECT_EQ(update("sgd"), "W ← W − η · dW");
  EXPECT_EQ(update("momentum"), "v ← μ · v + dW\\nW ← W − η · v");
  EXPECT_EQ(update("sgd-nesterov"), "v ← μ · v + dW\\nW ← W − η (dW + μ · v)");
  EXPECT_EQ(update("adam"), "m, v from dW, dW²\\nW ← W − η · m / √v");
  EXPECT_EQ(update("adamw"), "m, v from dW, dW²\\nW ← (1 − ηλ) W − η · m / √v");
  const auto caption = [](const std::string& optimizer) {
    return draw_step(parameter_server_case(servers_of(2, 1), optimizer), 2, "update", {})[0]
        .caption;
  };
  EXPECT_EQ(caption("sgd"), "Only the server updates with SGD, which keeps no state.");
  EXPECT_EQ(
      caption("adam"),
      "Only the server updates with Adam, whose state, m and v of 8.000 MB, is nowhere else.");
}

TEST(ParameterServerPictures, OfAnAsynchronousStepApplyEachPushByItself) {
  TraceRun::ParameterServer who = servers_of(3, 1);
  who.asynchronous = true;
  const std::vector<Picture> pictures = draw(who);
  EXPECT_EQ(rows(pictures), (std::vector<std::string>{"load", "pull", "forward", "loss", "backward",
                                                      "push-1", "push-2", "push-3"}));
  EXPECT_EQ(pictures[0].caption,
            "linear, rows per worker: 16, float32. 12.0 MB go into the server and as many out of "
            "it; 3 pushes are applied one by one, 0 to 1 updates old, 0.33 on average.");
  EXPECT_EQ(
      pictures[6].caption,
      "Push 1 of 3 is applied by itself: 4.000 MB from worker 2, computed with the weights as "
      "they still are.");
  EXPECT_EQ(
      pictures[8].caption,
      "Push 3 of 3 is applied by itself: 4.000 MB from worker 0, computed with weights that 1 "
      "update has changed since.");
  const DotText dot = read_dot(pictures[0].dot);
  EXPECT_EQ(label(dot, "forward_3"), "serves others");
  EXPECT_EQ(label(dot, "push_1_2"), "sends dW₂");
  EXPECT_EQ(label(dot, "push_1_0"), "pulls later");
  EXPECT_EQ(label(dot, "push_2_0"), "computes");
  EXPECT_EQ(label(dot, "push_3_1"), "next step");
  EXPECT_EQ(label(dot, "push_3_3"), "g = dW₀ / 3\\n1 update old\\nW ← W − η · g");
  EXPECT_EQ(draw_step(parameter_server_case(who), 2, "aggregate", {}).size(), 3U);
}

TEST(ParameterServerPictures, ShowAWorkerWithoutABatchAsIdle) {
  TraceRun::ParameterServer who = servers_of(3, 1);
  who.asynchronous = true;
  const Trace trace = parameter_server_case(who, "sgd", /*absent_worker=*/1);
  const DotText dot = read_dot(draw_step(trace, 2, "", {}).front().dot);
  for (const char* node : {"load_1", "pull_1", "forward_1", "push_1_1", "push_2_1"}) {
    EXPECT_EQ(label(dot, node), "idle") << node;
  }
  EXPECT_EQ(label(dot, "push_1_0"), "pulls later");
}

TEST(ParameterServerPictures, JoinTheMiddlePushesWhereThereAreMany) {
  TraceRun::ParameterServer who = servers_of(12, 1);
  who.asynchronous = true;
  const std::vector<Picture> pictures = draw(who);
  const std::vector<std::string> all = rows(pictures);
  EXPECT_EQ(all.back(), "push-12");
  EXPECT_EQ(all[all.size() - 2], "push-7-11");
  EXPECT_EQ(label(read_dot(pictures[0].dot), "push_7_11_12"),
            "g = dWᵢ / 12, 5 times\\n5 to 9 updates old\\nW ← W − η · g");
}

TEST(ParameterServerPictures, HandTheSumOnBeforeItIsPulled) {
  TraceRun::ParameterServer who = servers_of(2, 1, false);
  Trace trace = parameter_server_case(who);
  trace.run.devices = 4;
  trace.run.parameter_server->server_devices = 2;
  const auto pull = std::find_if(trace.ops.begin(), trace.ops.end(), [](const TraceOp& op) {
    return op.phase == Phase::kPull && op.rank == 2 && op.collective;
  });
  ASSERT_NE(pull, trace.ops.end());
  pull->phase = Phase::kReplicate;  // of the server's lead, to its other device
  pull->collective->request.peer = 3;
  pull->collective->request.ranks = 4;
  pull->collective->world_ranks = {0, 1, 2, 3};
  pull->collective->sequence += 1000;
  std::vector<std::string> names;
  for (const Picture& picture : draw_step(trace, 2, "", {})) names.push_back(picture.name);
  const auto place = [&](const char* name) { return std::find(names.begin(), names.end(), name); };
  ASSERT_NE(place("step2-replicate-servers"), names.end());
  EXPECT_LT(place("step2-aggregate"), place("step2-replicate-servers"));
  EXPECT_LT(place("step2-replicate-servers"), place("step2-pull"));
}

TEST(ParameterServerPictures, HaveATimelineUnlessStepsOverlap) {
  TraceRun::ParameterServer who = servers_of(8, 2);
  const Picture timeline = draw(who).back();
  EXPECT_EQ(timeline.name, "step2-timeline");
  EXPECT_EQ(timeline.title, "Parameter server: training step 2 on 8 workers and 2 servers");
  EXPECT_NE(timeline.caption.find("Communication of server "), std::string::npos)
      << timeline.caption;
  EXPECT_TRUE(read_dot(timeline.dot).nodes.contains("lane_more_workers"));
  who.asynchronous = true;
  EXPECT_EQ(draw(who).back().name, "step2-push-8");
}

}  // namespace
}  // namespace ringside
