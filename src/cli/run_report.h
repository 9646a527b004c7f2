// A finished run as text for people and as a JSON document (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "ringside/scenario.h"

namespace ringside::cli {

/// One line: strategy, devices, model, data, batch size, optimiser.
std::string run_heading(const Scenario& scenario);
/// The heading and the lines of the table that grows with the epochs.
std::string epoch_heading();
std::string epoch_line(const EpochReport& epoch);
/// What follows the epochs: steps, time, checksums, memory.
std::string run_summary(const RunReport& report);

/// `files` are those that were written. The document of --json, also report.json of --out.
std::string run_document(const RunReport& report, const std::vector<std::string>& files);

}  // namespace ringside::cli
