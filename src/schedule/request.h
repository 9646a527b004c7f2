// What can be said of a request before its schedule is made.
#pragma once

#include <cstddef>
#include <string>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// Why there is no schedule for `request`: "root 7: must be in [0, 3]"; empty if there is one.
std::string fault_in(const ScheduleRequest& request);

/// The algorithm asked for, or what kAutomatic stands for. Of a request without fault.
Algorithm chosen_algorithm(const ScheduleRequest& request);

/// The node size asked for, or what 0 stands for; 0 where the algorithm has no nodes. Of a request
/// without fault.
int chosen_node_size(const ScheduleRequest& request);
/// The size of every rank's full buffer. Of a request without fault.
std::size_t full_buffer_elements(const ScheduleRequest& request);
/// The size in which costs are told, S: the full buffer, of all-to-all one rank's. Of a request
/// without fault.
std::size_t rank_buffer_elements(const ScheduleRequest& request);

}  // namespace ringside::schedule
