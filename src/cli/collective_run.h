// One collective: its schedule, its cost, what every rank holds after each round, and the proof
// that the simulated devices compute the same.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/closed_form.h"
#include "ringside/schedule.h"
#include "schedule/simulate.h"

namespace ringside::cli {

/// What one rank holds at one moment.
struct Holding {
  std::size_t held = 0;     ///< elements of the full buffer that have a value
  double norm = 0;          ///< 2-norm of those
  schedule::Values values;  ///< all elements, where they are few; else empty
};

struct StageRecord {
  std::string label;  ///< "input", "times 1/4", "round 1", "divided by 4"
  std::vector<Holding> ranks;
};

struct CollectiveRun {
  Schedule schedule;
  ReduceOp op = ReduceOp::kSum;
  ScheduleCost cost;
  std::optional<ClosedForm> closed;
  bool executed = false;  ///< false: too many values to work out; cost and messages only
  std::vector<StageRecord> stages;
};

/// The small readable number that rank `rank` brings in as element `element` of its full buffer:
/// rank + 1 for buffers of one element, else 10(rank+1) + element for up to ten, with 100 for up to
/// a hundred; for longer ones 10(rank+1) + element mod 10.
double input_value(int rank, std::size_t element, std::size_t elements);
/// The same as it is used: modulo 100 for dtypes of at most 16 bits, which could not hold it; 1 or
/// 2 for op prod, so that products of many ranks stay exact.
double input_value(const Schedule& schedule, ReduceOp op, int rank, std::size_t element);

/// Makes the schedule, works out the values round by round, runs the collective on simulated
/// devices, message by message, and compares. Throws Error(kInvalidArgument) for a request that
/// make_schedule refuses or more ranks than kMaxRanks, Error(kDevice) if the results differ.
CollectiveRun run_collective(const ScheduleRequest& request, ReduceOp op);

inline constexpr int kMaxRanks = 1024;
/// Ranks times elements: more are not worked out.
inline constexpr std::size_t kMaxValues = std::size_t{1} << 23;
/// Elements of a buffer that are shown one by one.
inline constexpr std::size_t kMaxShownElements = 64;

}  // namespace ringside::cli
