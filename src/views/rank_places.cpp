#include "views/rank_places.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numbers>
#include <set>

namespace ringside {
namespace {

constexpr double kArrow = 48;  // of free line beside a label
constexpr double kGap = 26;    // between boxes that no arrow joins
constexpr double kLabelHeight = 16;

int root_of(const Schedule& schedule) {
  const ScheduleRequest& request = schedule.request;
  const bool pair = request.operation == Operation::kSend || request.operation == Operation::kRecv;
  return has_root(request.operation) || pair ? request.root : 0;
}

RankPlaces choose_slots(const Schedule& schedule, int most) {
  const int ranks = schedule.request.ranks;
  RankPlaces places;
  places.slot_of.assign(static_cast<std::size_t>(ranks), -1);
  const int root = root_of(schedule);
  const bool all = ranks <= most;
  const bool hides_root = !all && root >= most - 2 && root < ranks - 1;
  const int first_hidden = all ? ranks : most - (hides_root ? 3 : 2);
  int ellipsis = -1;
  for (int rank = 0; rank < ranks; ++rank) {
    const bool shown = rank < first_hidden || rank == root || rank == ranks - 1;
    if (!shown && ellipsis >= 0) {
      places.slots[static_cast<std::size_t>(ellipsis)].ranks.push_back(rank);
      places.slot_of[static_cast<std::size_t>(rank)] = ellipsis;
      continue;
    }
    if (!shown) ellipsis = static_cast<int>(places.slots.size());
    places.slot_of[static_cast<std::size_t>(rank)] = static_cast<int>(places.slots.size());
    places.slots.push_back({{rank}, {}});
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
  return std::fabs(a.x - b.x) >= width + kGap || std::fabs(a.y - b.y) >= height + kGap;
}

void place_ring(RankPlaces& places, double width, double height, double label) {
  const auto count = places.slots.size();
  if (count < 2) return;
  for (double radius = 60;; radius += 4) {
    for (std::size_t i = 0; i < count; ++i) {
      // From the top clockwise; two stand side by side.
      const double turn = static_cast<double>(i) / static_cast<double>(count);
      const double angle = std::numbers::pi * ((count == 2 ? 1.0 : 0.5) - 2 * turn);
      places.slots[i].place = {radius * std::cos(angle), 0.72 * radius * std::sin(angle)};
    }
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

// Slots as a tree from the root's: breadth first along the messages; what no message joins hangs
// directly under the root.
class TreeLayout {
 public:
  TreeLayout(RankPlaces& places, const Schedule& schedule, double width, double height,
             double label)
      : places_(places),
        children_(places.slots.size()),
        step_x_(std::max(width, 2 * label) + kGap),
        step_y_(height + kLabelHeight + 2 * kArrow) {
    const std::size_t root =
        static_cast<std::size_t>(places.slot_of[static_cast<std::size_t>(root_of(schedule))]);
    std::vector<std::set<std::size_t>> joined(places.slots.size());
    for (const Round& round : schedule.rounds) {
      for (const Message& message : round) {
        const auto a =
            static_cast<std::size_t>(places.slot_of[static_cast<std::size_t>(message.source)]);
        const auto b =
            static_cast<std::size_t>(places.slot_of[static_cast<std::size_t>(message.destination)]);
        joined[a].insert(b);
        joined[b].insert(a);
      }
    }
    std::vector<bool> seen(places.slots.size(), false);
    std::deque<std::size_t> queue = {root};
    seen[root] = true;
    for (; !queue.empty(); queue.pop_front()) {
      for (const std::size_t next : joined[queue.front()]) {
        if (seen[next]) continue;
        seen[next] = true;
        children_[queue.front()].push_back(next);
        queue.push_back(next);
      }
    }
    for (std::size_t slot = 0; slot < seen.size(); ++slot) {
      if (!seen[slot]) children_[root].push_back(slot);
    }
    place(root, 0, 0);
  }

 private:
  // Places the subtree of `slot` from `left` on and returns its right edge.
  double place(std::size_t slot, double left, int depth) {
    double right = left;
    for (const std::size_t child : children_[slot]) right = place(child, right, depth + 1);
    if (children_[slot].empty()) right = left + step_x_;
    const double middle = children_[slot].empty()
                              ? left + step_x_ / 2
                              : (places_.slots[children_[slot].front()].place.x +
                                 places_.slots[children_[slot].back()].place.x) /
                                    2;
    places_.slots[slot].place = {middle, -depth * step_y_};
    return right;
  }

  RankPlaces& places_;
  std::vector<std::vector<std::size_t>> children_;
  double step_x_;
  double step_y_;
};

}  // namespace

RankPlaces place_ranks(const Schedule& schedule, int most, double width, double height,
                       double label) {
  RankPlaces places = choose_slots(schedule, std::max(most, 4));
  const bool pair = schedule.request.operation == Operation::kSend ||
                    schedule.request.operation == Operation::kRecv;
  if (schedule.request.algorithm == Algorithm::kRing || pair) {
    place_ring(places, width, height, label);
  } else {
    TreeLayout(places, schedule, width, height, label);  // a star is a tree of one level
  }
  return places;
}

}  // namespace ringside
