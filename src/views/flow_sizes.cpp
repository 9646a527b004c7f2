#include "views/flow_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "views/text.h"

namespace ringside {
namespace {

constexpr double kLineHeight = 15;  // of kBoxFont
constexpr double kLaneGap = 22;
constexpr double kWidestBox = 190;

double box_text_width(const FlowBox& box) {
  double width = 0;
  const double size = box.box == BoxClass::kIdle ? kIdleFont : kBoxFont;
  for (std::size_t begin = 0; begin <= box.text.size();) {
    const std::size_t end = std::min(box.text.find('\n', begin), box.text.size());
    width = std::max(width, text_width(box.text.substr(begin, end - begin), size));
    begin = end + 1;
  }
  return width;
}

}  // namespace

std::string fitted_lines(const FlowBox& box, double width) {
  std::string lines;
  for (std::size_t begin = 0; begin <= box.text.size();) {
    const std::size_t end = std::min(box.text.find('\n', begin), box.text.size());
    if (begin > 0) lines += '\n';
    lines += fit_text(box.text.substr(begin, end - begin), kBoxFont, width);
    begin = end + 1;
  }
  return lines;
}

FlowSizes measure(const FlowDiagram& diagram) {
  FlowSizes sizes;
  for (std::size_t lane = 0; lane < diagram.lanes.size(); ++lane) {
    double& width = diagram.lanes[lane].ellipsis ? sizes.ellipsis : sizes.box;
    width = std::max(width, text_width(diagram.lanes[lane].title, kLaneFont, true) + 10);
    for (const FlowRow& row : diagram.rows) {
      width = std::max(width, std::min(box_text_width(row.boxes[lane]) + 22, kWidestBox));
      // The label stands to the right of a line in the middle of the lane.
      if (row.has_transfer()) {
        const double label = text_width(row.ports[lane].label, kLabelFont) + 12;
        width = std::max(width, 2 * (label - kLaneMargin));
      }
    }
  }
  for (std::size_t i = 0; i < diagram.rows.size(); ++i) {
    const FlowRow& row = diagram.rows[i];
    sizes.column =
        std::max({sizes.column, text_width(fmt::format("{}  {}", i, row.title), kBoxFont, true) + 8,
                  text_width(row.remark, kLabelFont) + 8});
    std::size_t lines = 1;
    for (const FlowBox& box : row.boxes) {
      lines = std::max(
          lines, 1 + static_cast<std::size_t>(std::count(box.text.begin(), box.text.end(), '\n')));
    }
    sizes.heights.push_back(17 + kLineHeight * static_cast<double>(lines));
  }
  sizes.picture = sizes.column;
  for (const FlowLane& lane : diagram.lanes) {
    sizes.picture += sizes.width_of(lane) + 2 * kLaneMargin + kLaneGap;
  }
  return sizes;
}

}  // namespace ringside
