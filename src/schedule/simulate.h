// Runs a schedule on small numbers, round by round, for people to look at: what every rank holds
// before, between and after. The executors in sim/comm do the work of training; this one keeps
// which elements a rank holds at all, and shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// One rank's full buffer; nothing where the rank holds no value (yet).
using Values = std::vector<std::optional<double>>;

enum class StageKind : std::uint8_t {
  kInput,
  kScaled,  ///< avg of a floating dtype: every input was multiplied by 1/n
  kRound,
  kDivided  ///< avg of a whole-number dtype: every sum was divided by n
};

/// What all ranks hold at one moment.
struct Stage {
  StageKind kind = StageKind::kInput;
  std::size_t round = 0;              ///< of kRound, counted from 0
  const std::vector<Values>& values;  ///< by rank; borrowed during the call
};

/// Calls `visit` for the inputs and after each round, and returns what the ranks hold at the end,
/// their results (output_range, ownership.h) among it. `input(rank, element)` is asked for the
/// elements that the rank brings in; it must fit the schedule's dtype, to which every combination
/// is rounded.
std::vector<Values> simulate(const Schedule& schedule, ReduceOp op,
                             const std::function<double(int rank, std::size_t element)>& input,
                             const std::function<void(const Stage&)>& visit);

}  // namespace ringside::schedule
