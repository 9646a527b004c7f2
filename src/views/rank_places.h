// Where the ranks of a collective stand: a ring on an ellipse, a star with its root above the
// others, a tree by levels. The places depend on the whole schedule, never on a round, so that
// nothing moves from picture to picture.
#pragma once

#include <string>
#include <vector>

#include "ringside/schedule.h"
#include "views/pinned.h"

namespace ringside {

/// One box of the picture: a rank, or several that are left out.
struct RankSlot {
  std::vector<int> ranks;  ///< one, or those that the ellipsis stands for
  Place place;

  bool is_ellipsis() const { return ranks.size() > 1; }
};

struct RankPlaces {
  std::vector<RankSlot> slots;
  std::vector<int> slot_of;  ///< by rank
};

/// `most`: boxes in all; with more ranks the first ones, the root and the last are shown. `width`
/// and `height` are those of a box, `label` the widest text on an arrow.
RankPlaces place_ranks(const Schedule& schedule, int most, double width, double height,
                       double label);

}  // namespace ringside
