// Where the ranks of a collective stand: a ring on an ellipse, a star or a tree by levels, each
// rank as many levels below the root as messages need steps to it. The places depend on the whole
// schedule, never on a round, so that nothing moves from picture to picture. Where ranks exchange
// with more than their neighbours they stand twice, in a row before the messages and one after
// them.
//
// All-gather and reduce-scatter through a tree use two binomial trees. In both the level of a rank
// is the number of ones in its number, so their messages, too, join neighbouring levels only.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "ringside/schedule.h"
#include "views/pinned.h"

namespace ringside {

/// One box of the picture: a rank, or several that are left out.
struct RankSlot {
  std::vector<int> ranks;  ///< one, or those that the ellipsis stands for
  int level = 0;           ///< 0 for all ranks of a ring
  Place place = {};
  double width = 0;
  bool before = false;  ///< of two rows, in the upper one

  bool is_ellipsis() const { return ranks.size() > 1; }
};

struct RankPlaces {
  std::vector<RankSlot> slots;
  std::vector<int> slot_of;            ///< by rank; of two rows, in the upper one
  int below = 0;                       ///< with two rows, from a slot to the one below; else 0
  std::set<std::pair<int, int>> ways;  ///< slots between which something is sent, in any round
  bool has_levels = false;
  std::size_t most_arrivals = 1;  ///< with two rows: arrows to one box in one round
  std::size_t all_arrivals = 1;   ///< with two rows: arrows to one box in all rounds together
};

/// Whether the ranks stand in two rows.
bool stands_in_rows(const ScheduleRequest& request);

/// The node of `rank` in an algorithm with nodes, else -1.
int node_of(const ScheduleRequest& request, int rank);

/// With two rows: the labels above one box for which room is kept, of a round or of all. All rounds
/// together have none where a box would have more than a few.
std::size_t labels_of_round(const RankPlaces& places);
std::size_t labels_of_all(const RankPlaces& places);

/// The height between two rows that is kept for `labels` above each other over a box.
double label_band(std::size_t labels);

/// Distance of the arrows' ends on the upper edge of a box, so that their labels stay apart.
double arrow_spread(double label);

/// With more than `most` ranks the first ones, the root and the last are shown; an ellipsis stands
/// for the others of a level or, in a ring, for those between two that are shown. `width` and
/// `height` are the least of a box, `label` the widest text on an arrow.
RankPlaces place_ranks(const Schedule& schedule, int most, double width, double height,
                       double label);

}  // namespace ringside
