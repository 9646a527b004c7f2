// What was carried out of a run that failed: hosts enqueue ahead, so that the recorder has heard
// of ops that never came about.
#pragma once

#include <vector>

#include "ringside/trace.h"

namespace ringside {

/// Which of `ops` were carried out; an op's id is its index. `unfinished` (one per op) tells of
/// which that is known not to be. Neither is a collective or message that not all of its recorded
/// ranks called, or not alike, nor whatever depends on an op that was not.
std::vector<bool> carried_out(const std::vector<TraceOp>& ops, const std::vector<bool>& unfinished);

/// `ops` without those that are not `kept`, renumbered. What is kept depends on nothing else.
std::vector<TraceOp> without_others(std::vector<TraceOp> ops, const std::vector<bool>& kept);

}  // namespace ringside
