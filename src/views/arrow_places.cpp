#include "views/arrow_places.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <vector>

namespace ringside {
namespace {

constexpr double kEdge = 16;        // of a box's edge beside the outermost arrow
constexpr double kSideBySide = 10;  // between the middle of two boxes and their two arrows
constexpr double kArrowLabelHeight = 16;

using Way = std::pair<int, int>;

// An arrow between levels, seen from above.
struct Descent {
  Way way;
  int upper;
  int lower;
  Place top;
  Place bottom;
};

// Spreads `arrows`, in this order, along an edge of `slot` and lets `end` name their x there.
template <typename End>
void spread(const std::vector<Descent*>& arrows, const RankSlot& slot, double distance, End end) {
  if (arrows.empty()) return;
  const auto gaps = static_cast<double>(arrows.size() - 1);
  const double step = gaps > 0 ? std::min(distance, (slot.width - 2 * kEdge) / gaps) : 0;
  double x = slot.place.x - step * gaps / 2;
  for (Descent* arrow : arrows) {
    end(*arrow) = x;
    x += step;
  }
}

// Near the lower box, where arrows are apart; arrows of two trees may still meet there, and then a
// label moves up along its own.
std::vector<Place> label_places(const std::vector<Descent>& descents, double width) {
  std::vector<Place> places;
  const auto is_free = [&](const Place& place) {
    return std::none_of(places.begin(), places.end(), [&](const Place& other) {
      return std::fabs(place.x - other.x) < width &&
             std::fabs(place.y - other.y) < kArrowLabelHeight;
    });
  };
  for (const Descent& descent : descents) {
    const auto at = [&](double share) {
      return Place{descent.top.x + share * (descent.bottom.x - descent.top.x),
                   descent.top.y + share * (descent.bottom.y - descent.top.y)};
    };
    constexpr double kShares[] = {0.74, 0.58, 0.42, 0.26};  // of the way down, best first
    const auto* const found = std::find_if(std::begin(kShares), std::end(kShares),
                                           [&](double share) { return is_free(at(share)); });
    places.push_back(at(found == std::end(kShares) ? kShares[0] : *found));
  }
  return places;
}

std::map<Way, ArrowPlace> place_between_levels(const RankPlaces& places, double height,
                                               double label) {
  const auto at = [&](int slot) -> const RankSlot& {
    return places.slots[static_cast<std::size_t>(slot)];
  };
  std::vector<Descent> descents;
  for (const Way& way : places.ways) {
    const bool down = at(way.first).level < at(way.second).level;
    const int upper = down ? way.first : way.second;
    const int lower = down ? way.second : way.first;
    descents.push_back({way,
                        upper,
                        lower,
                        {0, at(upper).place.y - height / 2},
                        {0, at(lower).place.y + height / 2}});
  }
  for (std::size_t i = 0; i < places.slots.size(); ++i) {
    std::vector<Descent*> arrows;
    for (Descent& descent : descents) {
      if (descent.lower == static_cast<int>(i)) arrows.push_back(&descent);
    }
    std::sort(arrows.begin(), arrows.end(), [&](const Descent* a, const Descent* b) {
      return std::tuple(at(a->upper).place.x, a->way) < std::tuple(at(b->upper).place.x, b->way);
    });
    spread(arrows, places.slots[i], arrow_spread(label),
           [](Descent& arrow) -> double& { return arrow.bottom.x; });
  }
  for (std::size_t i = 0; i < places.slots.size(); ++i) {
    std::vector<Descent*> arrows;
    for (Descent& descent : descents) {
      if (descent.upper == static_cast<int>(i)) arrows.push_back(&descent);
    }
    std::sort(arrows.begin(), arrows.end(), [](const Descent* a, const Descent* b) {
      return std::tuple(a->bottom.x, a->way) < std::tuple(b->bottom.x, b->way);
    });
    spread(arrows, places.slots[i], arrow_spread(label),
           [](Descent& arrow) -> double& { return arrow.top.x; });
  }
  const std::vector<Place> labels = label_places(descents, label);
  std::map<Way, ArrowPlace> arrows;
  for (std::size_t i = 0; i < descents.size(); ++i) {
    const Descent& descent = descents[i];
    const bool down = descent.way.first == descent.upper;
    arrows[descent.way] = {true, down ? descent.top : descent.bottom, labels[i],
                           down ? descent.bottom : descent.top};
  }
  return arrows;
}

std::map<Way, ArrowPlace> place_in_ring(const RankPlaces& places) {
  std::map<Way, ArrowPlace> arrows;
  for (const Way& way : places.ways) {
    const RankSlot& from = places.slots[static_cast<std::size_t>(way.first)];
    const RankSlot& to = places.slots[static_cast<std::size_t>(way.second)];
    const Place middle = {(from.place.x + to.place.x) / 2, (from.place.y + to.place.y) / 2};
    ArrowPlace arrow = {false, from.place, middle, to.place};
    if (places.ways.contains({way.second, way.first})) {  // two ranks, side by side
      const double side = from.place.x < to.place.x ? 1 : -1;
      const double y = middle.y + side * kSideBySide;
      arrow = {true,
               {from.place.x + side * from.width / 2, y},
               {middle.x, y},
               {to.place.x - side * to.width / 2, y}};
    }
    arrows[way] = arrow;
  }
  return arrows;
}

// How far from the middle of a box's edge the index-th of `count` arrows ends.
double end_offset(std::size_t index, std::size_t count, double width) {
  constexpr double kApart = 14;
  const auto gaps = static_cast<double>(count - 1);
  const double step = gaps > 0 ? std::min(kApart, (width - 2 * kEdge) / gaps) : 0;
  return step * (static_cast<double>(index) - gaps / 2);
}

// The place of `way` among those that share one of its ends, and how many they are.
template <typename SharesEnd>
std::pair<std::size_t, std::size_t> rank_among(const std::vector<Way>& ways, const Way& way,
                                               SharesEnd shares_end) {
  std::size_t index = 0;
  std::size_t count = 0;
  for (const Way& other : ways) {
    if (!shares_end(other)) continue;
    ++count;
    if (other < way) ++index;
  }
  return {index, count};
}

}  // namespace

std::map<Way, ArrowPlace> place_between_rows(const RankPlaces& places, const std::vector<Way>& ways,
                                             double height, double band) {
  std::map<Way, ArrowPlace> arrows;
  for (const Way& way : ways) {
    const RankSlot& from = places.slots[static_cast<std::size_t>(way.first)];
    const RankSlot& to = places.slots[static_cast<std::size_t>(way.second)];
    const auto [leaves, departures] =
        rank_among(ways, way, [&](const Way& other) { return other.first == way.first; });
    const auto [comes, arrivals] =
        rank_among(ways, way, [&](const Way& other) { return other.second == way.second; });
    const double top = to.place.y + height / 2;
    const double line = kArrowLabelHeight * (static_cast<double>(comes) + 0.5);
    arrows[way] = {
        true,
        {from.place.x + end_offset(leaves, departures, from.width), from.place.y - height / 2},
        {to.place.x, top + band - 6 - line},
        {to.place.x + end_offset(comes, arrivals, to.width), top + band}};
  }
  return arrows;
}

std::map<Way, ArrowPlace> place_arrows(const RankPlaces& places, double height, double label) {
  return places.has_levels ? place_between_levels(places, height, label) : place_in_ring(places);
}

}  // namespace ringside
