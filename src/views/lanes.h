// Which lanes of a picture are drawn where there are more than can be read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ringside {

/// Neighbouring lanes that are drawn as one: a lane, or an ellipsis that stands for several.
struct LaneRange {
  std::size_t first = 0;
  std::size_t count = 1;
  bool is_ellipsis() const { return count > 1; }
};

/// Of lanes of these kinds ("workers", "servers"): all, if there are at most `most`; else of each
/// kind the first ones, an ellipsis, and the last one (at least these 3). Small kinds are drawn
/// whole.
std::vector<LaneRange> shown_lanes(const std::vector<std::string>& kinds, int most);

}  // namespace ringside
