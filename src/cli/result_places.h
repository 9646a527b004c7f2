// Where a run's results go, looked at before the run: a long one must not lose them at its end.
#pragma once

#include <string>

#include "scenario/options.h"

namespace ringside::cli {

/// Makes the directory of --out. Throws Error(kIo) where a result could not be written, and
/// Error(kInvalidArgument) where it would take the place of another result or of a file that the
/// run reads, `config` (may be empty) among them.
void check_result_places(const RunRequest& request, const std::string& config);

}  // namespace ringside::cli
