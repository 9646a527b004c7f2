// The order of a trace's ops, the same for every run of the same program.
//
// Ranks submit their ops on threads of their own, so the order in which a recorder hears of them is
// timing. What does not depend on timing is each rank's own order and which op waits for which.
#pragma once

#include <vector>

#include "ringside/trace.h"

namespace ringside {

/// Orders ops by (step, rank, submission), except that an op comes after all ops it depends on, and
/// renumbers ids and dependencies (ascending, each once). `ops[i].id` must be i; ops of one rank
/// must stand in the order of their submission; ranks may be interleaved in any way. Throws
/// std::logic_error where ops wait for each other in a circle.
std::vector<TraceOp> in_trace_order(std::vector<TraceOp> ops);

}  // namespace ringside
