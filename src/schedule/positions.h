// Arithmetic on ranks arranged in a circle.
#pragma once

#include "ringside/schedule.h"

namespace ringside::schedule {

/// `value` modulo `ranks`, in [0, ranks) also for negative values.
inline int modulo(int value, int ranks) { return ((value % ranks) + ranks) % ranks; }

/// +1 for up, -1 for down.
inline int step_of(Direction direction) { return direction == Direction::kUp ? 1 : -1; }

}  // namespace ringside::schedule
