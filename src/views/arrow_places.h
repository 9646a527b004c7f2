// Where the arrows of a collective's picture run. Between levels every arrow has its own ends on
// the edges that face each other, in the order of the boxes it joins: it crosses no box, and its
// label stands near the lower box, where arrows are apart. In a ring arrows join the boxes'
// middles. Between two rows they end above the labels, which stand on the lower boxes.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "views/rank_places.h"

namespace ringside {

struct ArrowPlace {
  bool has_ends = false;  ///< else from border to border on the line between the middles
  Place tail;
  Place label;
  Place head;
};

/// The arrows of all `places.ways`, by slots. `height` is that of a box, `label` the widest text.
std::map<std::pair<int, int>, ArrowPlace> place_arrows(const RankPlaces& places, double height,
                                                       double label);

/// Those of one picture with two rows. Labels stand below the arrows in a band of the given height
/// over the box, in the order of the senders.
std::map<std::pair<int, int>, ArrowPlace> place_between_rows(
    const RankPlaces& places, const std::vector<std::pair<int, int>>& ways, double height,
    double band);

}  // namespace ringside
