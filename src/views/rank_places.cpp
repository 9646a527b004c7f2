#include "views/rank_places.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <utility>

namespace ringside {
namespace {

constexpr double kArrow = 48;           // of free line beside a label
constexpr double kBoxGap = 26;          // between boxes that no arrow joins
constexpr double kRowGap = 14;          // between boxes of a row
constexpr double kNodeGap = 40;         // between ranks of two nodes
constexpr std::size_t kMostLabels = 4;  // above a box where the arrows of all rounds end
constexpr double kLabelHeight = 16;
constexpr double kEdge = 14;    // of a box's edge beside the outermost arrow
constexpr double kSlope = 0.2;  // flatter arrows would run through their neighbours' labels

int root_of(const Schedule& schedule) {
  const ScheduleRequest& request = schedule.request;
  return has_root(request.operation) || is_pair(request.operation) ? request.root : 0;
}

// Steps of messages from the root to every rank, whichever way they go; 1 for a rank without any.
std::vector<int> levels_of(const Schedule& schedule) {
  std::vector<std::set<int>> joined(static_cast<std::size_t>(schedule.request.ranks));
  for (const Round& round : schedule.rounds) {
    for (const Message& message : round) {
      joined[static_cast<std::size_t>(message.source)].insert(message.destination);
      joined[static_cast<std::size_t>(message.destination)].insert(message.source);
    }
  }
  std::vector<int> levels(joined.size(), -1);
  std::deque<int> queue = {root_of(schedule)};
  levels[static_cast<std::size_t>(queue.front())] = 0;
  for (; !queue.empty(); queue.pop_front()) {
    const auto rank = static_cast<std::size_t>(queue.front());
    for (const int next : joined[rank]) {
      int& level = levels[static_cast<std::size_t>(next)];
      if (level >= 0) continue;
      level = levels[rank] + 1;
      queue.push_back(next);
    }
  }
  std::replace(levels.begin(), levels.end(), -1, 1);
  return levels;
}

// Which ranks share an ellipsis: by group, those that are not among the first, the root or the
// last. One rank alone is shown instead.
std::map<int, std::vector<int>> hidden_groups(const Schedule& schedule, int most,
                                              const std::vector<int>& levels) {
  std::map<int, std::vector<int>> groups;
  const int ranks = schedule.request.ranks;
  if (ranks <= most) return groups;
  const int root = root_of(schedule);
  const int first_hidden = most - (root >= most - 2 && root < ranks - 1 ? 3 : 2);
  int run = 0;
  for (int rank = first_hidden; rank < ranks - 1; ++rank) {
    if (rank == root) {
      ++run;
    } else {
      groups[levels.empty() ? run : levels[static_cast<std::size_t>(rank)]].push_back(rank);
    }
  }
  std::erase_if(groups, [](const auto& group) { return group.second.size() == 1; });
  return groups;
}

std::size_t most_arrivals(const Schedule& schedule, const RankPlaces& places) {
  std::size_t most = 1;
  for (const Round& round : schedule.rounds) {
    std::map<int, std::set<int>> sources;  // by receiving slot
    for (const Message& message : round) {
      auto& known = sources[places.slot_of[static_cast<std::size_t>(message.destination)]];
      known.insert(places.slot_of[static_cast<std::size_t>(message.source)]);
      most = std::max(most, known.size());
    }
  }
  return most;
}

std::size_t all_arrivals(const RankPlaces& places) {
  std::map<int, std::size_t> arrivals;  // by receiving slot
  for (const auto& [from, to] : places.ways) ++arrivals[to];
  std::size_t most = 1;
  for (const auto& [slot, count] : arrivals) most = std::max(most, count);
  return most;
}

void double_rows(RankPlaces& places) {
  places.below = static_cast<int>(places.slots.size());
  std::vector<RankSlot> after = places.slots;
  for (RankSlot& slot : places.slots) slot.before = true;
  places.slots.insert(places.slots.end(), after.begin(), after.end());
  std::set<std::pair<int, int>> ways;
  for (const auto& [from, to] : places.ways) ways.insert({from, to + places.below});
  places.ways = std::move(ways);
}

void place_rows(RankPlaces& places, const ScheduleRequest& request, double width, double height,
                double label) {
  const double column = std::max(width, label + 4);
  // The arrows', and the labels'.
  const double room = 90 + label_band(std::max(labels_of_round(places), labels_of_all(places)));
  double x = 0;
  int node = -1;
  for (std::size_t i = 0; i < places.slots.size(); ++i) {
    RankSlot& slot = places.slots[i];
    slot.width = column;
    const bool starts_row = i % static_cast<std::size_t>(places.below) == 0;
    const bool same_node = node_of(request, slot.ranks.front()) == node;
    x = starts_row ? 0 : x + column + (same_node ? kRowGap : kNodeGap);
    node = node_of(request, slot.ranks.back());
    slot.place = {x, slot.before ? 0 : -(height + room)};
  }
}

RankPlaces choose_slots(const Schedule& schedule, int most) {
  RankPlaces places;
  const Algorithm algorithm = schedule.request.algorithm;
  const bool is_tree = algorithm == Algorithm::kTree || (algorithm == Algorithm::kHierarchical &&
                                                         has_root(schedule.request.operation));
  places.has_levels =
      (algorithm == Algorithm::kStar || is_tree) && !is_pair(schedule.request.operation);
  const std::vector<int> levels = places.has_levels ? levels_of(schedule) : std::vector<int>();
  std::map<int, std::vector<int>> ellipses;  // by their first rank
  for (auto& [group, hidden] : hidden_groups(schedule, most, levels)) {
    ellipses.emplace(hidden.front(), hidden);
  }
  places.slot_of.assign(static_cast<std::size_t>(schedule.request.ranks), -1);
  for (int rank = 0; rank < schedule.request.ranks; ++rank) {
    if (places.slot_of[static_cast<std::size_t>(rank)] >= 0) continue;
    RankSlot slot;
    slot.ranks = ellipses.contains(rank) ? ellipses.at(rank) : std::vector<int>{rank};
    slot.level = places.has_levels ? levels[static_cast<std::size_t>(rank)] : 0;
    for (const int member : slot.ranks) {
      places.slot_of[static_cast<std::size_t>(member)] = static_cast<int>(places.slots.size());
    }
    places.slots.push_back(slot);
  }
  for (const Round& round : schedule.rounds) {
    for (const Message& message : round) {
      const int from = places.slot_of[static_cast<std::size_t>(message.source)];
      const int to = places.slot_of[static_cast<std::size_t>(message.destination)];
      if (from != to) places.ways.insert({from, to});
    }
  }
  if (stands_in_rows(schedule.request)) {
    places.most_arrivals = most_arrivals(schedule, places);
    places.all_arrivals = all_arrivals(places);
    double_rows(places);
  }
  return places;
}

// Length of the line between two boxes' borders, less what a label on it takes.
double free_line(const Place& a, const Place& b, double width, double height, double label) {
  const double dx = std::fabs(a.x - b.x);
  const double dy = std::fabs(a.y - b.y);
  const double length = std::hypot(dx, dy);
  if (length == 0) return 0;
  const double inside = std::min(dx > 0 ? width / dx : 1e9, dy > 0 ? height / dy : 1e9);
  const double label_share = std::min(dx > 0 ? label / dx : 1e9, dy > 0 ? kLabelHeight / dy : 1e9);
  return length * (1 - std::min(inside, 1.0) - std::min(label_share, 1.0));
}

bool apart(const Place& a, const Place& b, double width, double height) {
  return std::fabs(a.x - b.x) >= width + kBoxGap || std::fabs(a.y - b.y) >= height + kBoxGap;
}

// From the top clockwise on an ellipse, each as much lower than the one before; two side by side.
Place ring_place(std::size_t number, std::size_t count, double radius) {
  if (count == 2) return {number == 0 ? -radius : radius, 0};
  const double turn = 4.0 * static_cast<double>(number) / static_cast<double>(count);
  const double y = turn <= 2 ? 1 - turn : turn - 3;
  const double x = std::sqrt(std::max(0.0, 1 - y * y));
  return {radius * (turn <= 2 ? x : -x), 0.72 * radius * y};
}

void place_ring(RankPlaces& places, double width, double height, double label) {
  const auto count = places.slots.size();
  for (RankSlot& slot : places.slots) slot.width = width;
  if (count < 2) return;
  for (double radius = 60;; radius += 4) {
    for (std::size_t i = 0; i < count; ++i) places.slots[i].place = ring_place(i, count, radius);
    bool good = true;
    for (std::size_t i = 0; i < count && good; ++i) {
      for (std::size_t j = i + 1; j < count && good; ++j) {
        const Place& a = places.slots[i].place;
        const Place& b = places.slots[j].place;
        const bool neighbours = j == i + 1 || (i == 0 && j + 1 == count);
        good = apart(a, b, width, height) &&
               (!neighbours || free_line(a, b, width, height, label) >= kArrow);
      }
    }
    if (good) return;
  }
}

// Slots by levels; each hangs under the first slot of the level above that it exchanges with.
class LevelLayout {
 public:
  LevelLayout(RankPlaces& places, double width, double height, double label)
      : places_(places), children_(places.slots.size()), rooms_(places.slots.size()) {
    measure(width, label);
    std::size_t root = 0;
    while (places_.slots[root].level > 0) ++root;
    for (std::size_t slot = 0; slot < places_.slots.size(); ++slot) {
      if (slot != root) children_[parent_of(slot, root)].push_back(slot);
    }
    place(root, 0);
    double widest = 0;
    for (const auto& [from, to] : places_.ways) {
      widest = std::max(widest, std::fabs(at(from).place.x - at(to).place.x));
    }
    const double step = height + std::max(2 * kArrow + kLabelHeight, kSlope * widest);
    for (RankSlot& slot : places_.slots) slot.place.y = -step * slot.level;
  }

 private:
  const RankSlot& at(int slot) const { return places_.slots[static_cast<std::size_t>(slot)]; }

  void measure(double width, double label) {
    double widest = width;
    for (std::size_t i = 0; i < places_.slots.size(); ++i) {
      const auto arrows = static_cast<double>(std::count_if(
          places_.ways.begin(), places_.ways.end(), [&](const std::pair<int, int>& way) {
            const int slot = static_cast<int>(i);
            const bool below = way.first == slot ? at(way.second).level < at(slot).level
                                                 : at(way.first).level < at(slot).level;
            return (way.first == slot || way.second == slot) && below;
          }));
      RankSlot& slot = places_.slots[i];
      slot.width = std::max(width, arrow_spread(label) * (arrows - 1) + 2 * kEdge);
      rooms_[i] = std::max(slot.width, arrow_spread(label) * (arrows - 1) + label) + kBoxGap;
      if (!slot.is_ellipsis()) widest = std::max(widest, slot.width);
    }
    for (std::size_t i = 0; i < places_.slots.size(); ++i) {
      RankSlot& slot = places_.slots[i];
      if (!slot.is_ellipsis()) slot.width = widest;
      rooms_[i] = std::max(rooms_[i], slot.width + kBoxGap);
    }
  }

  std::size_t parent_of(std::size_t slot, std::size_t root) const {
    for (const auto& [from, to] : places_.ways) {
      for (const auto& [mine, other] : {std::pair(from, to), std::pair(to, from)}) {
        if (static_cast<std::size_t>(mine) != slot) continue;
        if (at(other).level == at(mine).level - 1) return static_cast<std::size_t>(other);
      }
    }
    return root;
  }

  // Places the subtree of `slot` from `left` on and returns its right edge.
  double place(std::size_t slot, double left) {
    const std::vector<std::size_t>& children = children_[slot];
    double right = left;
    for (const std::size_t child : children) right = place(child, right);
    const double middle =
        children.empty()
            ? left + rooms_[slot] / 2
            : (places_.slots[children.front()].place.x + places_.slots[children.back()].place.x) /
                  2;
    places_.slots[slot].place.x = middle;
    return std::max(right, left + rooms_[slot]);
  }

  RankPlaces& places_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<double> rooms_;  // width that a slot needs with its labels and the gap beside it
};

}  // namespace

// Neither neighbours on a ring only, nor levels.
bool stands_in_rows(const ScheduleRequest& request) {
  switch (request.algorithm) {
    case Algorithm::kDoubleTree:
    case Algorithm::kHalvingDoubling:
    case Algorithm::kDirect:
      return true;
    case Algorithm::kHierarchical:
      return !has_root(request.operation);
    default:
      return false;
  }
}

int node_of(const ScheduleRequest& request, int rank) {
  const bool has_nodes = request.algorithm == Algorithm::kHierarchical && request.node_size > 0;
  return has_nodes ? rank / request.node_size : -1;
}

std::size_t labels_of_round(const RankPlaces& places) { return places.most_arrivals; }

std::size_t labels_of_all(const RankPlaces& places) {
  return places.all_arrivals <= kMostLabels ? places.all_arrivals : 0;
}

double label_band(std::size_t labels) { return 8 + kLabelHeight * static_cast<double>(labels); }

double arrow_spread(double label) { return 1.35 * label; }

RankPlaces place_ranks(const Schedule& schedule, int most, double width, double height,
                       double label) {
  RankPlaces places = choose_slots(schedule, std::max(most, 4));
  if (places.below > 0) {
    place_rows(places, schedule.request, width, height, label);
  } else if (places.has_levels) {
    LevelLayout(places, width, height, label);
  } else {
    place_ring(places, width, height, label);
  }
  return places;
}

}  // namespace ringside
