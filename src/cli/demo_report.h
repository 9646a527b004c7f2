// The demo's results as text for people and as a JSON document (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "cli/demo_runs.h"

namespace ringside::cli {

/// Losses side by side, accuracy, and what one step of each sends.
std::string demo_text(const std::vector<DemoRun>& runs, const DemoVerdict& verdict);
/// What to try next.
std::string demo_next_steps(const std::string& program, const std::string& directory);
std::string demo_document(const std::vector<DemoRun>& runs, const DemoVerdict& verdict,
                          const std::vector<std::string>& files);

}  // namespace ringside::cli
