// Sizes of a data-flow picture: how wide boxes, lanes and the left column must be for their texts.
// They depend on the whole diagram, never on a frame, so that frames are laid out alike.
#pragma once

#include <string>
#include <vector>

#include "views/flow.h"

namespace ringside {

// Font sizes and distances in points.
inline constexpr double kBoxFont = 12;
inline constexpr double kIdleFont = 10.5;
inline constexpr double kLabelFont = 10.5;
inline constexpr double kLaneFont = 13;
inline constexpr double kLaneMargin = 9;
inline constexpr double kPointsPerInch = 72;

struct FlowSizes {
  double box = 108;             ///< width in an ordinary lane, points
  double ellipsis = 60;         ///< width in the ellipsis lane
  double column = 100;          ///< of the left column
  double picture = 0;           ///< width of all
  std::vector<double> heights;  ///< of the boxes of each row

  double width_of(const FlowLane& lane) const { return lane.ellipsis ? ellipsis : box; }
};
FlowSizes measure(const FlowDiagram& diagram);

/// The lines of a box, each cut to `width` points.
std::string fitted_lines(const FlowBox& box, double width);

}  // namespace ringside
