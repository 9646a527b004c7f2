// What every rank holds of every chunk before and after each round of a collective.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ringside/schedule.h"

namespace ringside {

/// What a rank holds of one chunk.
struct ChunkState {
  std::vector<int> contributions;  ///< ranks whose data is in it, ascending; empty: nothing is held
  bool arrived = false;            ///< part of it came in a message, in whatever round
  bool operator==(const ChunkState&) const = default;
};

struct ScheduleStates {
  std::vector<Range> chunks;        ///< the ranges that no message cuts
  std::vector<std::string> labels;  ///< "0", "1", ... as the messages number them
  /// [before the first round, after it, ...][rank][chunk]
  std::vector<std::vector<std::vector<ChunkState>>> states;
};

/// Follows a schedule that check_schedule approves; nothing of one with more than `most_chunks`.
ScheduleStates follow(const Schedule& schedule, std::size_t most_chunks);

}  // namespace ringside
