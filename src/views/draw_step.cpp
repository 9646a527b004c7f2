// The pictures of a step: which diagram a strategy's trace is drawn with.

#include <fmt/format.h>

#include "ringside/error.h"
#include "ringside/views.h"
#include "views/step_diagram.h"

namespace ringside {
namespace {

FlowDiagram diagram_of(const Trace& trace, int step) {
  const std::string& strategy = trace.run.strategy;
  if (strategy == "single") return single_diagram(trace, step);
  if (strategy == "dp") return data_parallel_diagram(trace, step);
  if (strategy == "ddp") return ddp_diagram(trace, step);
  if (strategy == "ps") return parameter_server_diagram(trace, step);
  throw Error(ErrorKind::kInvalidInput,
              fmt::format("strategy '{}': pictures of a step are drawn for single, dp, ddp and ps",
                          strategy));
}

// The steps of an asynchronous run overlap on its servers: one replayed alone would apply several
// pushes at once.
bool has_timeline(const Trace& trace) {
  const auto& servers = trace.run.parameter_server;
  return trace.run.strategy == "ddp" ||
         (trace.run.strategy == "ps" && !(servers && servers->asynchronous));
}

}  // namespace

std::vector<Picture> draw_step(const Trace& trace, int step, std::string_view phase,
                               const DrawOptions& options) {
  require_step(trace, step);
  std::vector<Picture> pictures = draw_flow(diagram_of(trace, step), phase, options);
  if (phase.empty() && has_timeline(trace)) {
    pictures.push_back(draw_timeline(trace, replay(trace, Rates{}, step), step, options));
  }
  return pictures;
}

}  // namespace ringside
