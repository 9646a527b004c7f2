// In words, why an algorithm needs as many rounds and bytes as it does. n is the number of ranks, S
// the buffer.
#pragma once

#include <string>

#include "ringside/schedule.h"

namespace ringside::cli {

/// Of a request whose algorithm is chosen (Schedule::request).
std::string why_rounds(const ScheduleRequest& request);
std::string why_bytes(const ScheduleRequest& request);

}  // namespace ringside::cli
