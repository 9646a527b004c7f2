// A collective's run as text for people and as a JSON document (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "cli/collective_run.h"

namespace ringside::cli {

std::string collective_text(const CollectiveRun& run);
/// `pictures` are the files that --draw wrote.
std::string collective_document(const CollectiveRun& run, const std::vector<std::string>& pictures);

/// What one rank holds, in one cell: "10 11 12", "- 21 -" ('-' is no value), "1000 values, norm
/// 314.2", "nothing".
std::string holding_text(const Holding& holding);

}  // namespace ringside::cli
