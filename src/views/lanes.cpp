// More lanes than can be read: of each kind the first ones, one that stands for the others, and the
// last.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "views/flow.h"
#include "views/lanes.h"
#include "views/text.h"

namespace ringside {
namespace {

constexpr std::size_t kFewest = 3;  // of a kind: the first, the ellipsis, the last

// What several boxes have in common; a plain ellipsis where they differ. Who is idle is not
// counted, if the others do one thing.
FlowBox merged_box(const std::vector<FlowBox>& boxes, const std::string& who) {
  std::vector<FlowBox> busy;
  std::copy_if(boxes.begin(), boxes.end(), std::back_inserter(busy),
               [](const FlowBox& box) { return box.box != BoxClass::kIdle; });
  const std::vector<FlowBox>& seen = busy.empty() ? boxes : busy;
  const bool alike = std::all_of(seen.begin(), seen.end(), [&](const FlowBox& other) {
    return other.box == seen.front().box;
  });
  if (alike && !seen.front().box) return {};
  if (!alike) return {BoxClass::kData, "…", fmt::format("{} do different things", who)};
  if (busy.empty()) {
    const bool same_text = std::all_of(boxes.begin(), boxes.end(), [&](const FlowBox& other) {
      return other.text == boxes.front().text;
    });
    return {BoxClass::kIdle, same_text ? boxes.front().text : "…",
            fmt::format("{}{}", who, same_text ? ": " + boxes.front().text : " do nothing here")};
  }
  const bool follows =
      std::any_of(busy.begin(), busy.end(), [](const FlowBox& box) { return box.follows; });
  if (busy.size() == boxes.size()) {
    return {seen.front().box, fmt::format("× {}", boxes.size()), fmt::format("{} do the same", who),
            follows};
  }
  return {seen.front().box, fmt::format("{} of {}", busy.size(), boxes.size()),
          fmt::format("{} of {}", busy.size(), who), follows};
}

FlowPort merged_port(const std::vector<FlowPort>& ports, const std::string& who) {
  FlowPort merged;
  std::set<std::string> labels;
  std::size_t labelled = 0;
  for (const FlowPort& port : ports) {
    merged.sent += port.sent;
    merged.received += port.received;
    merged.amount = std::max(merged.amount, port.amount);
    if (port.label.empty()) continue;
    labels.insert(port.label);
    ++labelled;
  }
  if (labels.size() == 1) {
    merged.label =
        labelled == 1 ? *labels.begin() : fmt::format("{} × {}", labelled, *labels.begin());
  } else if (!labels.empty()) {
    merged.label = format_bytes(std::max(merged.sent, merged.received));
  }
  merged.tooltip = fmt::format("{} send {} and receive {} in all", who, format_bytes(merged.sent),
                               format_bytes(merged.received));
  return merged;
}

// Neighbouring lanes of one kind.
struct Group {
  std::size_t begin = 0;
  std::size_t size = 0;
  std::size_t shown = 0;  // lanes that may be drawn of it
};

std::vector<Group> groups_of(const std::vector<std::string>& kinds) {
  std::vector<Group> groups;
  for (std::size_t lane = 0; lane < kinds.size(); ++lane) {
    if (lane == 0 || kinds[lane] != kinds[lane - 1]) groups.push_back({lane, 0, 0});
    ++groups.back().size;
  }
  return groups;
}

// Small groups are drawn whole; what they leave of `most` is shared by the others.
void share(std::vector<Group>& groups, std::size_t most) {
  std::vector<Group*> by_size;
  for (Group& group : groups) by_size.push_back(&group);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const Group* a, const Group* b) { return a->size < b->size; });
  std::size_t left = most;
  for (std::size_t i = 0; i < by_size.size(); ++i) {
    const std::size_t fair = std::max(left / (by_size.size() - i), kFewest);
    by_size[i]->shown = std::min(by_size[i]->size, fair);
    left -= std::min(by_size[i]->shown, left);
  }
}

// Draws `hidden` as one lane.
void fold(FlowDiagram& diagram, const LaneRange& hidden) {
  const FlowLane& first = diagram.lanes[hidden.first];
  const FlowLane& last = diagram.lanes[hidden.first + hidden.count - 1];
  const std::string who =
      fmt::format("{} to {}", first.title, last.kind.empty() ? last.id : last.title);
  FlowLane ellipsis;
  ellipsis.kind = first.kind;
  ellipsis.id = first.kind.empty() ? "more" : "more_" + first.kind;
  ellipsis.title =
      fmt::format("… {} more{}{}", hidden.count, first.kind.empty() ? "" : " ", first.kind);
  ellipsis.home = first.home && last.home;
  ellipsis.ellipsis = true;
  const auto collapse = [&](auto& items, const auto& merged) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(hidden.first);
    items.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(hidden.count));
    items[hidden.first] = merged;
  };
  const auto hidden_of = [&](const auto& items) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(hidden.first);
    return std::vector(begin, begin + static_cast<std::ptrdiff_t>(hidden.count));
  };
  collapse(diagram.lanes, ellipsis);
  for (FlowRow& row : diagram.rows) {
    collapse(row.boxes, merged_box(hidden_of(row.boxes), who));
    if (row.has_transfer()) collapse(row.ports, merged_port(hidden_of(row.ports), who));
  }
}

}  // namespace

std::vector<LaneRange> shown_lanes(const std::vector<std::string>& kinds, int most) {
  std::vector<Group> groups = groups_of(kinds);
  share(groups, std::max(static_cast<std::size_t>(std::max(most, 0)), kFewest));
  std::vector<LaneRange> ranges;
  for (const Group& group : groups) {
    const bool folds = group.size > group.shown;
    const std::size_t alone = folds ? group.shown - 2 : group.size;  // before the ellipsis
    for (std::size_t i = 0; i < alone; ++i) ranges.push_back({group.begin + i, 1});
    if (!folds) continue;
    ranges.push_back({group.begin + alone, group.size - alone - 1});
    ranges.push_back({group.begin + group.size - 1, 1});
  }
  return ranges;
}

FlowDiagram with_at_most(const FlowDiagram& diagram, int max_lanes) {
  std::vector<std::string> kinds;
  for (const FlowLane& lane : diagram.lanes) kinds.push_back(lane.kind);
  const std::vector<LaneRange> ranges = shown_lanes(kinds, max_lanes);
  FlowDiagram shown = diagram;
  // From the last, so that the places of the others stay right.
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    if (range->is_ellipsis()) fold(shown, *range);
  }
  return shown;
}

}  // namespace ringside
