// What can be said of a timeline without knowing where it is from.
#include "ringside/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "ringside/error.h"
#include "trace/copy_route.h"
#include "trace/ready.h"

namespace ringside {
namespace {

using Interval = std::pair<double, double>;

// The union of intervals, in order and disjoint.
std::vector<Interval> united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> result;
  for (const Interval& interval : intervals) {
    if (interval.second <= interval.first) continue;
    if (!result.empty() && interval.first <= result.back().second) {
      result.back().second = std::max(result.back().second, interval.second);
    } else {
      result.push_back(interval);
    }
  }
  return result;
}

double length(const std::vector<Interval>& intervals) {
  double sum = 0;
  for (const Interval& interval : intervals) sum += interval.second - interval.first;
  return sum;
}

// What of `a` is not in `b`; both are united.
std::vector<Interval> difference(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> result;
  auto first = b.begin();  // that ends behind the beginning of the interval
  for (const Interval& interval : a) {
    double from = interval.first;
    while (first != b.end() && first->second <= from) ++first;
    for (auto taken = first; taken != b.end() && taken->first < interval.second; ++taken) {
      if (taken->first > from) result.emplace_back(from, taken->first);
      from = std::max(from, taken->second);
    }
    if (from < interval.second) result.emplace_back(from, interval.second);
  }
  return result;
}

bool is_communication(const TraceOp& op) {
  return op.collective.has_value() || is_between_devices(op);
}

}  // namespace

double Timeline::begin() const {
  double begin = entries.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (const TimelineEntry& entry : entries) begin = std::min(begin, entry.start);
  return begin;
}

double Timeline::end() const {
  double end = entries.empty() ? 0 : -std::numeric_limits<double>::infinity();
  for (const TimelineEntry& entry : entries) end = std::max(end, entry.end);
  return end;
}

Timeline measured_timeline(const Trace& trace, int step) {
  Timeline timeline;
  timeline.source = TimelineSource::kMeasured;
  timeline.machine = trace.run.backend;
  double shortest = std::numeric_limits<double>::infinity();
  for (const TraceOp& op : trace.ops) {
    const bool asked = step < 0 ? op.step >= 0 : op.step == step;
    if (!asked || !op.measured_start || !op.measured_end) continue;
    TimelineEntry entry;
    entry.op = op.id;
    entry.start = *op.measured_start;
    entry.end = *op.measured_end;
    shortest = std::min(shortest, entry.end - entry.start);
    timeline.entries.push_back(entry);
  }
  if (timeline.entries.empty()) {
    throw Error(ErrorKind::kInvalidInput,
                step < 0 ? std::string("the trace has no measured times")
                         : fmt::format("the trace has no measured times for step {}", step),
                "record it with times, or replay it on a machine");
  }
  const double origin = timeline.begin();
  ReadyTimes times(trace, origin);
  for (TimelineEntry& entry : timeline.entries) {
    entry.ready = std::min(entry.start, times.ready(trace.ops[static_cast<std::size_t>(entry.op)]));
    times.set_end(entry.op, entry.end);
    entry.ready -= origin;
    entry.start -= origin;
    entry.end -= origin;
    entry.uncertainty = shortest;
  }
  return timeline;
}

StepTimes step_times(const Trace& trace, const Timeline& timeline) {
  std::map<int, std::vector<Interval>> communication;
  std::map<int, std::vector<Interval>> computation;
  for (const TimelineEntry& entry : timeline.entries) {
    const TraceOp& op = trace.ops.at(static_cast<std::size_t>(entry.op));
    if (is_communication(op)) communication[op.rank].emplace_back(entry.start, entry.end);
    if (op.kind == OpKind::kCompute) computation[op.rank].emplace_back(entry.start, entry.end);
  }
  StepTimes times;
  for (auto& [rank, intervals] : communication) {
    const std::vector<Interval> busy = united(std::move(intervals));
    std::vector<Interval> exposed = difference(busy, united(std::move(computation[rank])));
    const double communicating = length(busy);
    const double hidden = communicating - length(exposed);
    // Ranks that communicate equally long differ in what they hide; the one that computes longest
    // sets the pace of the step.
    if (std::pair(communicating, hidden) > std::pair(times.communication, times.hidden)) {
      times.communication = communicating;
      times.hidden = hidden;
      times.rank = rank;
      times.exposed_parts = std::move(exposed);
    }
  }
  times.exposed = times.communication - times.hidden;
  times.total = timeline.end() - timeline.begin();
  return times;
}

}  // namespace ringside
