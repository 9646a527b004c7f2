// What the pictures of a collective say below and above: its name, and the point with its number.
#pragma once

#include <cstddef>
#include <string>

#include "ringside/schedule.h"

namespace ringside {

/// "All-reduce (sum) on 4 ranks, ring".
std::string schedule_title(const Schedule& schedule, ReduceOp op);

/// Rounds, messages and bytes; what the busiest rank moves, and what goes between nodes.
std::string whole_caption(const Schedule& schedule);

/// Which ranks a round joins, its messages and bytes, and what becomes of what arrives.
std::string round_caption(const Schedule& schedule, ReduceOp op, std::size_t round);

}  // namespace ringside
