// The pictures of a data flow: the whole and its frames.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ringside/error.h"
#include "views/flow.h"

namespace ringside {

std::vector<Picture> draw_flow(const FlowDiagram& diagram, std::string_view phase,
                               const DrawOptions& options) {
  const FlowDiagram shown = with_at_most(diagram, options.max_lanes);
  std::vector<Picture> pictures;
  if (phase.empty()) {
    pictures.push_back({shown.name, "dot", write_flow(shown, options.theme, std::nullopt),
                        shown.title, shown.caption});
  }
  for (std::size_t row = 0; row < shown.rows.size(); ++row) {
    const FlowRow& about = shown.rows[row];
    if (!phase.empty() && about.phase != phase) continue;
    pictures.push_back({fmt::format("{}-{}", shown.name, about.name), "dot",
                        write_flow(shown, options.theme, row),
                        fmt::format("{}: {}", shown.title, about.title), about.caption});
  }
  if (pictures.empty()) {
    std::vector<std::string> phases;
    for (const FlowRow& row : shown.rows) {
      if (phases.empty() || phases.back() != row.phase) phases.push_back(row.phase);
    }
    std::sort(phases.begin(), phases.end());
    phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
    throw Error(ErrorKind::kInvalidArgument, fmt::format("phase '{}': {} has the phases {}", phase,
                                                         shown.name, fmt::join(phases, ", ")));
  }
  return pictures;
}

}  // namespace ringside
