// Which part of the full buffer a rank brings into an operation and which part it takes out.
#pragma once

#include "ringside/schedule.h"

namespace ringside::schedule {

/// What `rank` holds before the first round; empty if nothing.
Range input_range(const Schedule& schedule, int rank);
/// What `rank` must hold after the last round; empty if nothing.
Range output_range(const Schedule& schedule, int rank);

}  // namespace ringside::schedule
