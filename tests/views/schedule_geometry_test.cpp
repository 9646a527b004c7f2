// The pictures of every collective, measured: no arrow runs through a box that it does not join, no
// label lies on a box or on another label.

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "ringside/views.h"
#include "views/dot_nodes.h"

namespace ringside {
namespace {

using test::attribute;
using test::DotText;
using test::read_dot;

struct Point {
  double x = 0;
  double y = 0;
};

struct Box {
  std::string id;
  Point middle;
  double width = 0;
  double height = 0;

  bool holds(Point point) const {
    return std::abs(point.x - middle.x) < width / 2 && std::abs(point.y - middle.y) < height / 2;
  }
  bool overlaps(const Box& other) const {
    return std::abs(other.middle.x - middle.x) < (width + other.width) / 2 &&
           std::abs(other.middle.y - middle.y) < (height + other.height) / 2;
  }
};

Box box_of(const DotText& dot, const std::string& id) {
  const std::string& attributes = dot.nodes.at(id);
  const std::string place = attribute(attributes, "pos");
  return {id,
          {std::stod(place), std::stod(place.substr(place.find(',') + 1))},
          72 * std::stod(attribute(attributes, "width")),
          72 * std::stod(attribute(attributes, "height"))};
}

std::vector<Box> boxes(const DotText& dot, const std::regex& ids) {
  std::vector<Box> result;
  for (const auto& [id, attributes] : dot.nodes) {
    if (std::regex_match(id, ids)) result.push_back(box_of(dot, id));
  }
  return result;
}

bool runs_through(Point from, Point to, const Box& box) {
  for (int step = 0; step <= 200; ++step) {
    const double share = step / 200.0;
    if (box.holds({from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)}))
      return true;
  }
  return false;
}

const std::regex& slot_ids() {
  static const std::regex ids(R"((rank|more)\d+(_before)?)");
  return ids;
}

const std::regex& label_ids() {
  static const std::regex ids(R"(m_((?:rank|more)\d+(?:_before)?)_((?:rank|more)\d+))");
  return ids;
}

void expect_labels_apart(const DotText& dot) {
  const std::vector<Box> labels = boxes(dot, label_ids());
  const std::vector<Box> slots = boxes(dot, slot_ids());
  EXPECT_FALSE(labels.empty());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (const Box& slot : slots) {
      EXPECT_FALSE(labels[i].overlaps(slot)) << labels[i].id << " lies on " << slot.id;
    }
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(labels[i].overlaps(labels[j])) << labels[i].id << " lies on " << labels[j].id;
    }
  }
}

void expect_arrows_clear(const DotText& dot) {
  const std::vector<Box> slots = boxes(dot, slot_ids());
  for (const Box& label : boxes(dot, label_ids())) {
    std::smatch ends;
    ASSERT_TRUE(std::regex_match(label.id, ends, label_ids()));
    for (const bool head : {false, true}) {
      const std::string own = ends[head ? 2 : 1];
      const std::string pinned_end = label.id + (head ? "_head" : "_tail");
      const Point end = box_of(dot, dot.nodes.contains(pinned_end) ? pinned_end : own).middle;
      for (const Box& slot : slots) {
        if (slot.id == own) continue;
        EXPECT_FALSE(runs_through(end, label.middle, slot))
            << label.id << " runs through " << slot.id;
      }
    }
  }
}

class ScheduleGeometry : public testing::TestWithParam<Operation> {};

TEST_P(ScheduleGeometry, LetsNoArrowRunThroughABoxAndNoLabelLieOnAnother) {
  const Operation operation = GetParam();
  for (const Algorithm algorithm : algorithms_for(operation)) {
    for (const int ranks : {2, 3, 4, 5, 8, 9, 12, 16}) {
      ScheduleRequest request;
      request.operation = operation;
      request.algorithm = algorithm;
      request.ranks = ranks;
      request.count = operation == Operation::kBarrier ? 0 : 16;
      request.root = has_root(operation) ? ranks - 1 - ranks / 3 : 0;
      const std::vector<Picture> pictures =
          draw_schedule(make_schedule(request), ReduceOp::kSum, {}, DrawOptions{});
      // The picture of the whole has the arrows of all rounds; in rows, without their labels.
      const bool in_rows = read_dot(pictures.front().dot).nodes.contains("rank0_before");
      for (std::size_t i = in_rows ? 1 : 0; i < (in_rows ? pictures.size() : 1); ++i) {
        SCOPED_TRACE(pictures[i].name);
        const DotText dot = read_dot(pictures[i].dot);
        expect_labels_apart(dot);
        if (!in_rows) expect_arrows_clear(dot);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, ScheduleGeometry,
                         testing::Values(Operation::kBroadcast, Operation::kScatter,
                                         Operation::kGather, Operation::kReduce,
                                         Operation::kAllReduce, Operation::kAllGather,
                                         Operation::kReduceScatter, Operation::kBarrier),
                         [](const testing::TestParamInfo<Operation>& tested) {
                           std::string name(to_string(tested.param));
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace ringside
