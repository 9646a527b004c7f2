// Places for labels above vertical guide lines: no label covers another or crosses a line.
#pragma once

#include <optional>
#include <vector>

namespace ringside {

struct LabelRequest {
  double line = 0;   ///< x of its guide
  double width = 0;  ///< of its text
};

struct LabelPlace {
  double centre = 0;  ///< x
  int tier = 0;       ///< 0 is the lowest; its guide reaches up to it
};

/// A place for each request (ascending by line) within [left, right] and `tiers` tiers; none for a
/// label that does not fit anywhere.
std::vector<std::optional<LabelPlace>> place_labels(const std::vector<LabelRequest>& requests,
                                                    double left, double right, int tiers);

}  // namespace ringside
