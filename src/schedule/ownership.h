// Which part of the full buffer a rank brings into an operation and which part it takes out.
#pragma once

#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// What `rank` holds before the first round; empty if nothing.
Range input_range(const Schedule& schedule, int rank);
/// What `rank` must hold after the last round; empty if nothing. Of all-to-all, whose blocks for
/// one rank do not lie side by side, nothing: see below.
Range output_range(const Schedule& schedule, int rank);
/// The same of every operation: the ranges that lie one after the other in the rank's recv.
std::vector<Range> output_ranges(const Schedule& schedule, int rank);

}  // namespace ringside::schedule
