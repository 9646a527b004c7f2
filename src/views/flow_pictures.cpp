// The pictures of a data flow: the whole and its frames.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ringside/error.h"
#include "views/flow.h"

namespace ringside {
namespace {

// The left column as lines.
std::vector<std::string> phase_list(const FlowDiagram& diagram) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < diagram.rows.size(); ++i) {
    const FlowRow& row = diagram.rows[i];
    lines.push_back(
        fmt::format("{} {}{}{}", i, row.title, row.remark.empty() ? "" : ": ", row.remark));
  }
  return lines;
}

}  // namespace

std::vector<Picture> draw_flow(const FlowDiagram& diagram, std::string_view phase,
                               const DrawOptions& options) {
  const FlowDiagram shown = with_at_most(diagram, options.max_lanes);
  const std::vector<std::string> phases = phase_list(shown);
  std::vector<Picture> pictures;
  if (phase.empty()) {
    pictures.push_back({shown.name, "dot", write_flow(shown, options.theme, std::nullopt),
                        shown.title, shown.caption, phases});
  }
  for (std::size_t row = 0; row < shown.rows.size(); ++row) {
    const FlowRow& about = shown.rows[row];
    if (!phase.empty() && !about.shows(phase)) continue;
    pictures.push_back({fmt::format("{}-{}", shown.name, about.name),
                        "dot",
                        write_flow(shown, options.theme, row),
                        fmt::format("{}: {}", shown.title, about.title),
                        about.caption,
                        {phases.begin(), phases.begin() + static_cast<std::ptrdiff_t>(row) + 1}});
  }
  if (pictures.empty()) {
    std::vector<std::string> known;
    for (const FlowRow& row : shown.rows) {
      std::vector<std::string> phases_of_row = {row.phase};
      phases_of_row.insert(phases_of_row.end(), row.also.begin(), row.also.end());
      for (const std::string& one : phases_of_row) {
        if (std::find(known.begin(), known.end(), one) == known.end()) known.push_back(one);
      }
    }
    throw Error(ErrorKind::kInvalidArgument, fmt::format("phase '{}': {} has the phases {}", phase,
                                                         shown.name, fmt::join(known, ", ")));
  }
  return pictures;
}

}  // namespace ringside
