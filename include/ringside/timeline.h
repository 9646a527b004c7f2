// Timeline: when each op of a trace starts and ends: measured, or replayed on a machine.
#pragma once

#include <string>
#include <vector>

#include "ringside/trace.h"

namespace ringside {

enum class TimelineSource : std::uint8_t { kMeasured, kReplayed };

/// The time of one op; seconds from the timeline's beginning.
struct TimelineEntry {
  OpId op = 0;
  double start = 0;
  double end = 0;
  /// when its own dependencies had ended; start - ready = waiting for other ranks or for a busy
  /// stream
  double ready = 0;
  double uncertainty = 0;  ///< seconds, of measured times; 0 for replayed ones
  bool operator==(const TimelineEntry&) const = default;
};

struct Timeline {
  TimelineSource source = TimelineSource::kReplayed;
  std::string machine;                 ///< name of the machine or the rates
  std::vector<TimelineEntry> entries;  ///< of the ops of the asked steps, ascending by op
  double begin() const;
  double end() const;
  bool operator==(const Timeline&) const = default;
};

/// The minimal machine: constant rates per kind of op.
struct Rates {
  std::string name = "constant rates";
  double flops_per_second = 10e12;
  double compute_overhead = 5e-6;  ///< seconds per compute op
  /// reads and writes of compute ops without flops (and of every op: the larger term counts)
  double memory_bytes_per_second = 500e9;
  double copy_bytes_per_second = 12e9;  ///< host to device and back
  double copy_latency = 10e-6;
  double link_bytes_per_second = 10e9;  ///< between devices, per direction and port
  double link_latency = 5e-6;           ///< per message round
  double host_op = 20e-6;               ///< seconds per host op
  std::vector<double> rank_slowdown;    ///< factor on compute per rank; empty = 1
};

/// Replays the ops of `step` (all recorded steps if negative): stream order, events, collectives
/// start when the last participant is ready and take, per round of their schedule, the latency plus
/// the busiest port's bytes. Deterministic. (sim/replay)
Timeline replay(const Trace& trace, const Rates& rates, int step);

/// From measured_start and measured_end. Throws Error(kInvalidInput) where the trace has none.
Timeline measured_timeline(const Trace& trace, int step);

/// What a timeline says about one step.
struct StepTimes {
  double total = 0;
  double communication = 0;  ///< length of the union of communication intervals, longest rank
  double hidden = 0;         ///< part of it during which that rank computes
  double exposed = 0;        ///< communication - hidden
};
StepTimes step_times(const Trace& trace, const Timeline& timeline);

}  // namespace ringside
