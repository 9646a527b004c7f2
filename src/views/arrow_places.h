// Where the arrows of a collective's picture run. Between levels every arrow has its own ends on
// the edges that face each other, in the order of the boxes it joins: it crosses no box, and its
// label stands near the lower box, where arrows are apart. In a ring arrows join the boxes'
// middles.
#pragma once

#include <map>
#include <utility>

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

}  // namespace ringside
