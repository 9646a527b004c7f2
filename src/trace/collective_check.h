// What a collective in a trace must fulfil before a schedule is made from it.
#pragma once

#include <cstddef>
#include <string>

#include "ringside/trace.h"

namespace ringside {

/// More devices than this are taken for damage.
inline constexpr int kMostDevices = 1 << 20;
/// No buffer of a collective is larger, so that sums of bytes over messages stay exact.
inline constexpr std::size_t kMostBufferBytes = std::size_t{1} << 40;
/// The largest schedule that expand() makes; one message takes 40 bytes.
inline constexpr std::size_t kMostMessages = std::size_t{1} << 22;

/// Why make_schedule would refuse `request`, or why its buffer is too large to be true; empty if
/// neither.
std::string fault_of(const ScheduleRequest& request);

/// An upper bound of the number of messages of the schedule.
std::size_t most_messages(const ScheduleRequest& request);

}  // namespace ringside
