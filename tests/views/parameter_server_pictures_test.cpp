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
    result.push_back(pictures[i].name.substr(std::string("step2-").size()));
  }
  return result;
}

std::string label(const DotText& dot, const std::string& node) {
  return attribute(dot.nodes.at(node), "label");
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
  EXPECT_EQ(label(servers, "push_0"), "idle");
  EXPECT_EQ(label(servers, "push_3"), "3 gradients");
  EXPECT_EQ(label(servers, "aggregate_3"), "dW = Σ dWᵢ / 3");
  EXPECT_EQ(attribute(servers.nodes.at("update_3"), "class"), "update");
  EXPECT_EQ(label(servers, "update_0"), "idle");
  const DotText workers = read_dot(draw(servers_of(3, 1, false))[0].dot);
  EXPECT_EQ(label(workers, "pull_0"), "dW (copy)");
  EXPECT_EQ(attribute(workers.nodes.at("update_0"), "class"), "update");
  EXPECT_EQ(label(workers, "update_3"), "idle");
}

TEST(ParameterServerPictures, LeaveOutWorkersBeforeServers) {
  const DotText dot = read_dot(draw(servers_of(12, 1))[0].dot);
  EXPECT_TRUE(dot.nodes.contains("forward_5"));
  EXPECT_FALSE(dot.nodes.contains("forward_6"));
  EXPECT_EQ(label(dot, "push_12"), "12 gradients");
}

TEST(ParameterServerPictures, OfAnAsynchronousStepSayHowOldEachPushIs) {
  TraceRun::ParameterServer who = servers_of(3, 1);
  who.asynchronous = true;
  const std::vector<Picture> pictures = draw(who);
  EXPECT_EQ(pictures[6].caption,
            "3 workers push their gradients: 12.0 MB into the server, 12.0 MB in all.");
  EXPECT_EQ(pictures[7].caption,
            "Each push is applied by itself, as it comes: worker 0, 0 updates old.");
  EXPECT_EQ(label(read_dot(pictures[0].dot), "update_3"), "W ← W − η · dWᵢ");
}

}  // namespace
}  // namespace ringside
