#include "views/label_places.h"

#include <algorithm>

namespace ringside {
namespace {

constexpr double kLabelGap = 8;

constexpr int kMostTries = 20'000;

struct Placed {
  double left;
  double right;
  double line;
  int tier;
};

bool fits(const Placed& label, const std::vector<Placed>& others) {
  return std::none_of(others.begin(), others.end(), [&](const Placed& other) {
    const bool overlaps = label.tier == other.tier && label.left < other.right + kLabelGap &&
                          other.left < label.right + kLabelGap;
    // The guide of a higher label passes the lower tiers.
    const bool own_line_crosses = label.tier > other.tier &&
                                  label.line > other.left - kLabelGap / 2 &&
                                  label.line < other.right + kLabelGap / 2;
    const bool other_line_crosses = other.tier > label.tier &&
                                    other.line > label.left - kLabelGap / 2 &&
                                    other.line < label.right + kLabelGap / 2;
    return overlaps || own_line_crosses || other_line_crosses;
  });
}

// The places of one label, best first: low tiers before high ones; over its line, else to its left
// or right.
std::vector<Placed> candidates(const LabelRequest& request, double left, double right, int tiers) {
  std::vector<Placed> result;
  for (int tier = 0; tier < tiers; ++tier) {
    for (const double share : {0.5, 0.75, 0.25, 0.95, 0.05}) {
      const double start = std::clamp(request.line - share * request.width, left,
                                      std::max(left, right - request.width));
      if (start > request.line || start + request.width < request.line) continue;
      result.push_back({start, start + request.width, request.line, tier});
    }
  }
  return result;
}

// Depth first: the first way to place all from `next` on; false if there is none.
bool place_all(const std::vector<std::vector<Placed>>& choices, std::vector<Placed>& placed,
               int& tries) {
  if (placed.size() == choices.size()) return true;
  for (const Placed& choice : choices[placed.size()]) {
    if (--tries < 0) return false;
    if (!fits(choice, placed)) continue;
    placed.push_back(choice);
    if (place_all(choices, placed, tries)) return true;
    placed.pop_back();
  }
  return false;
}

}  // namespace

std::vector<std::optional<LabelPlace>> place_labels(const std::vector<LabelRequest>& requests,
                                                    double left, double right, int tiers) {
  const auto place_of = [](const Placed& label) {
    return LabelPlace{(label.left + label.right) / 2, label.tier};
  };
  std::vector<std::optional<LabelPlace>> places;
  std::vector<Placed> placed;
  // As few tiers as will do.
  for (int used = 1; used <= tiers; ++used) {
    std::vector<std::vector<Placed>> choices;
    for (const LabelRequest& request : requests) {
      choices.push_back(candidates(request, left, right, used));
    }
    placed.clear();
    int tries = kMostTries;
    if (!place_all(choices, placed, tries)) continue;
    for (const Placed& label : placed) places.emplace_back(place_of(label));
    return places;
  }
  // Not all have room: one after the other, the rest without a label.
  placed.clear();
  for (const LabelRequest& request : requests) {
    const std::vector<Placed> choices = candidates(request, left, right, tiers);
    const auto found = std::find_if(choices.begin(), choices.end(),
                                    [&](const Placed& choice) { return fits(choice, placed); });
    if (found == choices.end()) {
      places.emplace_back();
    } else {
      placed.push_back(*found);
      places.emplace_back(place_of(*found));
    }
  }
  return places;
}

}  // namespace ringside
