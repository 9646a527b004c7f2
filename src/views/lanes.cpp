// More lanes than can be read: the first ones, one that stands for the others, and the last.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "views/flow.h"
#include "views/text.h"

namespace ringside {
namespace {

// What several boxes have in common; a plain ellipsis where they differ.
FlowBox merged_box(const std::vector<FlowBox>& boxes, const std::string& who) {
  const bool alike = std::all_of(boxes.begin(), boxes.end(), [&](const FlowBox& other) {
    return other.box == boxes.front().box;
  });
  if (alike && !boxes.front().box) return {};
  if (!alike) return {BoxClass::kData, "…", fmt::format("{} do different things", who)};
  const bool same_text = std::all_of(boxes.begin(), boxes.end(), [&](const FlowBox& other) {
    return other.text == boxes.front().text;
  });
  const bool is_idle = boxes.front().box == BoxClass::kIdle;
  return {boxes.front().box,
          is_idle && same_text ? boxes.front().text : fmt::format("× {}", boxes.size()),
          fmt::format("{} do the same", who)};
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
    merged.label = fmt::format("{} × {}", labelled, *labels.begin());
  } else if (!labels.empty()) {
    merged.label = format_bytes(std::max(merged.sent, merged.received));
  }
  merged.tooltip = fmt::format("{} send {} and receive {} in all", who, format_bytes(merged.sent),
                               format_bytes(merged.received));
  return merged;
}

}  // namespace

FlowDiagram with_at_most(const FlowDiagram& diagram, int max_lanes) {
  const std::size_t most = static_cast<std::size_t>(std::max(max_lanes, 3));
  const std::size_t lanes = diagram.lanes.size();
  if (lanes <= most) return diagram;
  const std::size_t first = most - 2;  // shown before the ellipsis
  const std::size_t hidden = lanes - first - 1;
  const std::string who =
      fmt::format("{} to {}", diagram.lanes[first].title, diagram.lanes[lanes - 2].id);
  const auto collapse = [&](auto& items, auto merged) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(first);
    items.erase(begin, begin + static_cast<std::ptrdiff_t>(hidden));
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(first), std::move(merged));
  };
  const auto hidden_of = [&](const auto& items) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector(begin, begin + static_cast<std::ptrdiff_t>(hidden));
  };

  FlowDiagram shown = diagram;
  FlowLane ellipsis;
  ellipsis.id = "more";
  ellipsis.title = fmt::format("… {} more", hidden);
  ellipsis.ellipsis = true;
  collapse(shown.lanes, ellipsis);
  for (FlowRow& row : shown.rows) {
    collapse(row.boxes, merged_box(hidden_of(row.boxes), who));
    if (row.has_transfer()) collapse(row.ports, merged_port(hidden_of(row.ports), who));
  }
  return shown;
}

}  // namespace ringside
