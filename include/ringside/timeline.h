// Timeline: when each op of a trace starts and ends: measured, or replayed on a machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/trace.h"

namespace ringside {

/// The version of the JSON form this program writes. Reading refuses others and says so.
inline constexpr int kTimelineVersion = 1;

enum class TimelineSource : std::uint8_t { kMeasured, kReplayed };
/// "measured", "replayed".
std::string_view to_string(TimelineSource source);

/// The time of one op; seconds from the timeline's beginning.
struct TimelineEntry {
  OpId op = 0;
  double start = 0;
  double end = 0;
  /// when the events it waits for were done (its own and those of the wait ops directly before it
  /// on its stream), or, without events, its stream's previous op; start - ready = waiting for
  /// other ranks or for a busy stream
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

/// The JSON form of docs/trace.md, as trace_to_json and its like.
std::string timeline_to_json(const Timeline& timeline);
void write_timeline(const Timeline& timeline, const std::string& path);
/// Reads and validates. Throws Error(kInvalidInput) with the place of the fault.
Timeline timeline_from_json(std::string_view json, std::string_view source_name);
Timeline read_timeline(const std::string& path);

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
/// the busiest port's bytes. What an earlier step did counts as done when the timeline begins, at
/// 0. Deterministic. Throws Error(kInvalidArgument) for a rate that is not positive, and
/// Error(kInvalidInput) for ops that wait for each other in a circle. (sim/replay)
Timeline replay(const Trace& trace, const Rates& rates, int step);

/// From measured_start and measured_end; ops without them have no entry. The uncertainty is the
/// shortest interval that was measured: no difference below it means anything. Throws
/// Error(kInvalidInput) where the trace has none.
Timeline measured_timeline(const Trace& trace, int step);

/// What a timeline says about one step.
struct StepTimes {
  double total = 0;
  /// length of the union of communication intervals (collectives, messages, copies between
  /// devices), of the rank where it is longest; of equal ones that which hides most
  double communication = 0;
  double hidden = 0;   ///< part of it during which that rank computes
  double exposed = 0;  ///< communication - hidden
  int rank = -1;       ///< the rank these are told of; -1 without communication
  /// when that rank communicates without computing: start and end, ascending, disjoint
  std::vector<std::pair<double, double>> exposed_parts;
};
StepTimes step_times(const Trace& trace, const Timeline& timeline);

}  // namespace ringside
