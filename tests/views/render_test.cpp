// Rendering: Graphviz has nothing to complain of, positions do not move, and the SVG can be read by
// people who see it on a dark page or not at all. Without Graphviz: what a user is told.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include "core/files.h"
#include "ringside/error.h"
#include "ringside/views.h"
#include "support/example_traces.h"
#include "views/render.h"
#include "views/step_traces.h"
#include "views/svg.h"

namespace ringside {
namespace {

class Rendering : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_render()) GTEST_SKIP() << "built without Graphviz's library";
  }
};

std::vector<Picture> step_pictures(const Trace& trace, Theme theme = Theme::kLight) {
  DrawOptions options;
  options.theme = theme;
  return draw_step(trace, trace.steps().front(), "", options);
}

std::vector<Picture> collective_pictures(Operation operation, Algorithm algorithm, int ranks) {
  ScheduleRequest request;
  request.operation = operation;
  request.algorithm = algorithm;
  request.ranks = ranks;
  request.count = 100;
  return draw_schedule(make_schedule(request), ReduceOp::kSum, {}, {});
}

// "name x y" of every node, from Graphviz's plain format.
std::map<std::string, std::string> positions(const Picture& picture) {
  std::map<std::string, std::string> result;
  std::istringstream lines(render_dot(picture.dot, picture.layout, "plain").bytes);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, name, x, y;
    words >> kind >> name >> x >> y;
    if (kind == "node") result[name] = x + " " + y;
  }
  return result;
}

void expect_no_messages(const std::vector<Picture>& pictures) {
  for (const Picture& picture : pictures) {
    const Rendered rendered = render_dot(picture.dot, picture.layout, "svg");
    EXPECT_EQ(rendered.messages, "") << picture.name;
    EXPECT_NE(rendered.bytes.find("</svg>"), std::string::npos) << picture.name;
  }
}

TEST_F(Rendering, HasNoBoxTooSmallForItsText) {
  expect_no_messages(step_pictures(test::data_parallel_trace()));
  expect_no_messages(step_pictures(test::data_parallel_trace(), Theme::kDark));
  expect_no_messages(step_pictures(test::ddp_trace()));
  expect_no_messages(step_pictures(test::single_case()));
  expect_no_messages(step_pictures(test::data_parallel_case({})));
  expect_no_messages(step_pictures(test::ddp_case(2, 3)));
  expect_no_messages(step_pictures(test::ddp_case(12, 9), Theme::kDark));
  expect_no_messages(step_pictures(test::parameter_server_case({.workers = 3})));
  expect_no_messages(step_pictures(
      test::parameter_server_case({.workers = 10, .servers = 2, .server_updates = false}),
      Theme::kDark));
  const Trace overlap = test::overlap_trace();
  expect_no_messages({draw_timeline(overlap, replay(overlap, test::overlap_rates(), 0), 0, {})});
}

TEST_F(Rendering, HasNoBoxTooSmallInCollectives) {
  for (const int ranks : {1, 2, 3, 4, 8, 12}) {
    for (const Operation operation :
         {Operation::kBroadcast, Operation::kScatter, Operation::kGather, Operation::kReduce,
          Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter}) {
      for (const Algorithm algorithm : algorithms_for(operation)) {
        const std::vector<Picture> all = collective_pictures(operation, algorithm, ranks);
        expect_no_messages({all.front(), all.back()});
      }
    }
  }
}

TEST_F(Rendering, MovesNothingFromFrameToFrame) {
  for (const Trace& trace : {test::data_parallel_trace(), test::data_parallel_case({}),
                             test::ddp_case(4, 3), test::ddp_case(12, 2), test::single_case(),
                             test::parameter_server_case({.workers = 3, .servers = 2})}) {
    const std::vector<Picture> pictures = step_pictures(trace);
    const std::map<std::string, std::string> whole = positions(pictures[0]);
    ASSERT_GT(whole.size(), 9U);
    for (const Picture& picture : pictures) {
      if (picture.layout == "dot") {
        EXPECT_EQ(positions(picture), whole) << picture.name;
      }
    }
  }
}

TEST_F(Rendering, KeepsEveryLane) {
  const std::string svg = render(step_pictures(test::data_parallel_trace())[0], "svg");
  for (const char* lane : {"lane0", "lane1", "lane2", "lane3"}) {
    EXPECT_NE(svg.find(std::string("<title>cluster_") + lane), std::string::npos) << lane;
  }
  EXPECT_NE(svg.find("class=\"node comm\""), std::string::npos);
}

// Graphviz orders clusters by their places in memory.
TEST(FinishedSvg, HasItsClustersInTheOrderOfTheirNumbers) {
  const auto cluster = [](int number) {
    return "<g id=\"clust" + std::to_string(number) +
           "\" class=\"cluster\">\n<g id=\"a\">\n</g>\n</g>\n";
  };
  const std::string end = "<g id=\"node1\" class=\"node\">\n</g>\n</svg>\n";
  const std::string svg = finish_svg(
      "<svg>\n<g id=\"graph0\">\n" + cluster(10) + cluster(2) + cluster(1) + end, Picture());
  EXPECT_TRUE(svg.ends_with("<g id=\"graph0\">\n" + cluster(1) + cluster(2) + cluster(10) + end))
      << svg;
}

TEST_F(Rendering, TellsTheSvgToPeopleWhoDoNotSeeIt) {
  const Picture picture = step_pictures(test::data_parallel_trace())[0];
  const std::string svg = render(picture, "svg");
  EXPECT_NE(svg.find("role=\"img\" aria-labelledby=\"picture-title picture-desc\">"),
            std::string::npos);
  EXPECT_NE(svg.find("<title id=\"picture-title\">" + picture.title + "</title>"),
            std::string::npos);
  EXPECT_NE(svg.find("74.0 kB move between devices"), std::string::npos);
  EXPECT_NE(svg.find("2 replicate (broadcast): 3 × 9.640 kB"), std::string::npos);
}

TEST_F(Rendering, FollowsDarkPagesUnlessDarkAlready) {
  const std::string light = render(step_pictures(test::data_parallel_trace())[0], "svg");
  EXPECT_NE(light.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(light.find("fill=\"#d6eaf8\""), std::string::npos);
  EXPECT_NE(light.find("[fill=\"#d6eaf8\"]{fill:#0f3350}"), std::string::npos);
  const std::string dark =
      render(step_pictures(test::data_parallel_trace(), Theme::kDark)[0], "svg");
  EXPECT_EQ(dark.find("prefers-color-scheme"), std::string::npos);
}

// A colour that the style sheet does not know would stay light on a dark page.
TEST_F(Rendering, UsesOnlyColoursOfThePalette) {
  std::vector<Picture> pictures = step_pictures(test::ddp_trace());
  for (const std::vector<Picture>& more :
       {step_pictures(test::data_parallel_case({})), step_pictures(test::ddp_case(12, 1)),
        collective_pictures(Operation::kAllReduce, Algorithm::kRing, 4)}) {
    pictures.insert(pictures.end(), more.begin(), more.end());
  }
  for (const Picture& picture : pictures) {
    const std::string svg = render(picture, "svg");
    for (const char* name : {"fill=\"", "stroke=\""}) {
      for (std::size_t at = svg.find("<g "); (at = svg.find(name, at)) != std::string::npos;) {
        at += std::string(name).size();
        const std::string value = svg.substr(at, svg.find('"', at) - at);
        if (value == "none" || value == "transparent") continue;
        EXPECT_NE(svg.find("[fill=\"" + value + "\"]{"), std::string::npos)
            << picture.name << ": " << value;
      }
    }
  }
}

TEST_F(Rendering, PassesUserTextsThroughUnharmed) {
  Trace trace = test::ddp_case(2, 1);
  trace.run.model = "数据并行 \"<b>&\\N\\\" \xff";
  for (TraceOp& op : trace.ops) {
    if (op.name == "copy-to-bucket") op.label = "编码器.\"<w>&\\\"";
  }
  expect_no_messages(step_pictures(trace));
  const std::string svg = render(step_pictures(trace)[0], "svg");
  EXPECT_NE(svg.find("数据并行 &quot;&lt;b&gt;&amp;"), std::string::npos);
  EXPECT_NE(svg.find("编码器."), std::string::npos);
}

TEST_F(Rendering, WorksFromManyThreads) {
  const Picture picture = step_pictures(test::single_case())[0];
  const std::string expected = render(picture, "svg");
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string& result : results) {
    threads.emplace_back([&picture, &result] { result = render(picture, "svg"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, expected);
}

TEST_F(Rendering, MakesPngOfWholeDots) {
  const std::string png = render(step_pictures(test::single_case())[0], "png");
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
}

TEST_F(Rendering, ReportsWhatIsNoDot) {
  EXPECT_THROW(render_dot("digraph {", "dot", "svg"), Error);
  EXPECT_THROW(render_dot("digraph { a }", "dot", "no-such-format"), Error);
  EXPECT_THROW(render(step_pictures(test::single_case())[0], "gif"), Error);
}

TEST(WritePictures, WritesDotAlwaysAndMakesTheDirectory) {
  const std::string directory = testing::TempDir() + "ringside_views/deep/er";
  std::filesystem::remove_all(testing::TempDir() + "ringside_views");
  const std::vector<Picture> pictures = step_pictures(test::single_case());
  const std::vector<std::string> paths = write_pictures(pictures, directory, {"dot"});
  ASSERT_EQ(paths.size(), pictures.size());
  EXPECT_EQ(paths[0], directory + "/step2.dot");
  EXPECT_EQ(read_whole_file(paths[0]), pictures[0].dot);
}

TEST(WritePictures, RefusesUnknownFormatsBeforeWritingAny) {
  const std::string directory = testing::TempDir() + "ringside_views_none";
  std::filesystem::remove_all(directory);
  EXPECT_THROW(write_pictures(step_pictures(test::single_case()), directory, {"dot", "gif"}),
               Error);
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(RenderCommand, IsWhatOneTypes) {
  Picture picture;
  picture.name = "step2";
  picture.layout = "dot";
  EXPECT_EQ(render_command(picture, "svg"), "dot -Tsvg step2.dot -o step2.svg");
  picture.layout = "neato";
  EXPECT_EQ(render_command(picture, "png"), "neato -n2 -Tpng -Gdpi=110 step2.dot -o step2.png");
}

TEST(RenderWithoutGraphviz, SaysWhatToType) {
  if (can_render()) GTEST_SKIP() << "built with Graphviz's library";
  try {
    render(step_pictures(test::single_case())[0], "svg");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    EXPECT_NE(error.hint().find("dot -Tsvg step2.dot -o step2.svg"), std::string::npos);
  }
}

TEST(Theme, IsParsedByName) {
  EXPECT_EQ(parse_theme("dark"), Theme::kDark);
  EXPECT_THROW(parse_theme("blue"), Error);
}

}  // namespace
}  // namespace ringside
