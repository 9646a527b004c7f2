#include "views/timeline_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "trace/collective_key.h"
#include "trace/copy_route.h"
#include "views/buckets.h"
#include "views/parameter_server_facts.h"
#include "views/step_diagram.h"
#include "views/text.h"

namespace ringside {
namespace {

constexpr double kShortestGap = 0.005;  // of the whole, between ops: seen as a gap
constexpr double kNotable = 0.02;  // a rank that computes so much slower than the fastest is named

class FactsBuilder {
 public:
  FactsBuilder(const Trace& trace, const Timeline& timeline, int step)
      : trace_(trace),
        is_ddp_(trace.run.strategy == "ddp"),
        ps_(trace.run.strategy == "ps" ? std::optional(ParameterServerFacts(trace, step))
                                       : std::nullopt) {
    facts_.begin = timeline.begin();
    facts_.end = timeline.end();
    facts_.times = step_times(trace, timeline);
    for (const TimelineEntry& entry : timeline.entries) {
      const TraceOp& op = trace.ops.at(static_cast<std::size_t>(entry.op));
      if (op.step == step) entries_.emplace(op.id, &entry);
    }
  }

  TimelineFacts build() {
    std::map<int, std::vector<const TraceOp*>> ops_of_rank;
    for (const auto& [id, entry] : entries_) {
      const TraceOp& op = trace_.ops[static_cast<std::size_t>(id)];
      ops_of_rank[op.rank].push_back(&op);
      if (op.collective) note_last_to_come(op);
    }
    for (const auto& [rank, ops] : ops_of_rank) add_lane(rank, ops);
    facts_.run = ps_ ? ps_->run_text() : run_text(trace_, is_ddp_ ? "rows per rank:" : "batch");
    facts_.devices = devices_text();
    if (ps_) facts_.busiest = lane_name(facts_.times.rank);
    name_slow_ranks();
    add_marks();
    return std::move(facts_);
  }

 private:
  const TimelineEntry& entry(const TraceOp& op) const { return *entries_.at(op.id); }
  std::string time(double seconds) const {
    return format_seconds(seconds - facts_.begin, facts_.end - facts_.begin);
  }
  std::string duration(double seconds) const {
    return format_seconds(seconds, facts_.end - facts_.begin);
  }
  // What the lane of a rank is called.
  std::string lane_name(int rank) const {
    if (ps_) return ps_->name(rank);
    return fmt::format("{} {}", is_ddp_ ? "rank" : device_word(trace_), rank);
  }
  std::string devices_text() const;
  double ready(const TraceOp& op) const { return entry(op).ready; }

  void note_last_to_come(const TraceOp& op) {
    const TraceOp*& last = last_to_come_[key_of(*op.collective)];
    if (last == nullptr || ready(op) > ready(*last)) last = &op;
  }

  void add_lane(int rank, const std::vector<const TraceOp*>& ops);
  void add_compute(TimedLane& lane, const std::vector<const TraceOp*>& ops);
  void add_communication(TimedLane& lane, const std::vector<const TraceOp*>& ops);
  void add_wait(TimedLane& lane, const TraceOp& op, double from);
  void note_wait(const TraceOp& op, const TraceOp* before, double busy_until);
  std::string compute_group(const TraceOp& op, const std::string& before) const;
  TimedBox compute_box(const TraceOp& op, const std::string& layer, int bucket) const;
  TimedBox communication_box(const TraceOp& op) const;
  void name_slow_ranks();
  void add_marks();

  const Trace& trace_;
  bool is_ddp_;
  std::optional<ParameterServerFacts> ps_;        // of its traces
  std::map<OpId, const TimelineEntry*> entries_;  // of the step
  std::map<CollectiveKey, const TraceOp*> last_to_come_;
  TimelineFacts facts_;
};

std::vector<std::string> phase_texts(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return {"forward", "fwd", "F"};
    case Phase::kBackward:
      return {"backward", "bwd", "B"};
    case Phase::kUpdate:
      return {"update", "upd", "U"};
    case Phase::kFinalize:
      return {"finalize", "fin"};
    case Phase::kLoss:
      return {"loss", "L"};
    default:
      return {std::string(to_string(phase))};
  }
}

BoxClass phase_class(Phase phase) {
  switch (phase) {
    case Phase::kLoad:
      return BoxClass::kData;
    case Phase::kLoss:
      return BoxClass::kLoss;
    case Phase::kUpdate:
      return BoxClass::kUpdate;
    default:
      return BoxClass::kCompute;
  }
}

// Ops with one key are one box: a phase, or in DDP's backward a layer. The label of an op is a
// module path ("4") or a parameter of it ("4.weight"); what has none belongs to the layer before.
std::string FactsBuilder::compute_group(const TraceOp& op, const std::string& before) const {
  std::string phase(to_string(op.phase));
  if (!is_ddp_ || op.phase != Phase::kBackward) return phase;
  const std::string start = phase + " ";
  if (before.starts_with(start)) {
    const std::string layer = before.substr(start.size());
    if (op.label.empty() || op.label == layer || op.label.starts_with(layer + ".")) return before;
  }
  std::string layer = op.label;
  for (const char* suffix : {".weight", ".bias"}) {
    if (layer.ends_with(suffix)) layer.erase(layer.size() - std::string_view(suffix).size());
  }
  return start + layer;
}

TimedBox FactsBuilder::compute_box(const TraceOp& op, const std::string& layer, int bucket) const {
  TimedBox box;
  box.box = phase_class(op.phase);
  box.start = entry(op).start;
  box.end = entry(op).end;
  box.tooltip = fmt::format("{}: {}", lane_name(op.rank), to_string(op.phase));
  if (is_ddp_ && op.phase == Phase::kBackward) box.dark_fill = bucket >= 0 && bucket % 2 == 0;
  if (layer.empty()) {
    box.texts = phase_texts(op.phase);
    return box;
  }
  const bool is_number = layer.front() >= '0' && layer.front() <= '9';
  box.texts = {(is_number ? "layer " : "") + clean_text(layer), clean_text(layer)};
  box.tooltip += fmt::format(" of layer {}", layer);
  if (bucket >= 0) box.tooltip += fmt::format(", for bucket {}", bucket);
  return box;
}

void FactsBuilder::add_compute(TimedLane& lane, const std::vector<const TraceOp*>& ops) {
  const std::vector<int> buckets = bucket_of_backward(ops);
  std::string group;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const TraceOp& op = *ops[i];
    // A copy within the device, or from or to the host, is work of its own; one between devices is
    // communication.
    const bool copies = op.kind == OpKind::kCopy && !is_between_devices(op);
    if (op.kind != OpKind::kCompute && !copies) continue;
    std::string next = compute_group(op, group);
    // A box has no gap: what waits in between (finalize, for the next bucket) begins another.
    const bool pauses = !lane.compute.empty() && entry(op).start - lane.compute.back().end >
                                                     kShortestGap * (facts_.end - facts_.begin);
    if (next != group || pauses || lane.compute.empty()) {
      const std::size_t space = next.find(' ');
      lane.compute.push_back(
          compute_box(op, space == std::string::npos ? "" : next.substr(space + 1), buckets[i]));
    }
    group = std::move(next);
    TimedBox& box = lane.compute.back();
    box.start = std::min(box.start, entry(op).start);
    box.end = std::max(box.end, entry(op).end);
  }
  for (TimedBox& box : lane.compute) {
    box.tooltip += fmt::format(", {} from {}", duration(box.end - box.start), time(box.start));
  }
}

TimedBox FactsBuilder::communication_box(const TraceOp& op) const {
  TimedBox box;
  box.box = BoxClass::kComm;
  box.start = entry(op).start;
  box.end = entry(op).end;
  const std::string took =
      fmt::format("{} from {}", duration(box.end - box.start), time(box.start));
  if (op.bucket < 0) {
    const bool own_phase = op.phase == Phase::kForward || op.phase == Phase::kLoss;
    const std::string name(own_phase ? std::string_view(op.name) : to_string(op.phase));
    box.texts = {name, name.substr(0, name.find('-'))};
    if (is_ddp_) box.texts.emplace_back("sync");  // buffers, or the order of buckets
    box.tooltip = fmt::format("{}: {}, {}", lane_name(op.rank), name, took);
    return box;
  }
  const ScheduleRequest& request = op.collective->request;
  const std::string bytes = format_bytes(request.count * size_of(request.dtype));
  box.dark_fill = op.bucket % 2 == 0;
  box.texts = {fmt::format("bucket {}: {}", op.bucket, bytes),
               fmt::format("{}: {}", op.bucket, bytes), std::to_string(op.bucket)};
  box.tooltip = fmt::format("{} of bucket {}: {} in {}", to_string(request.operation), op.bucket,
                            bytes, took);
  return box;
}

void FactsBuilder::add_wait(TimedLane& lane, const TraceOp& op, double from) {
  const TimelineEntry& times = entry(op);
  if (times.start - from < 1e-3 * (facts_.end - facts_.begin)) return;
  const TraceOp& last = *last_to_come_.at(key_of(*op.collective));
  TimedBox box;
  box.box = BoxClass::kIdle;
  box.start = from;
  box.end = times.start;
  box.texts = {"waits"};
  if (last.rank != op.rank) {
    box.texts.insert(box.texts.begin(), "waits for " + lane_name(last.rank));
  }
  box.tooltip =
      fmt::format("{}: ready at {}, waits{} until {}", lane_name(op.rank), time(from),
                  last.rank == op.rank ? "" : " for " + lane_name(last.rank), time(times.start));
  lane.communication.push_back(std::move(box));
}

// A bucket waits for the last rank to come and, ready everywhere, for the collective before it.
// What belongs to no bucket (the buffers of a module) is drawn as waiting, but gets no sentence.
void FactsBuilder::note_wait(const TraceOp& op, const TraceOp* before, double busy_until) {
  if (op.bucket < 0) return;
  const auto consider = [&](double time, const std::string& waits_for) {
    if (time < kShortestGap * (facts_.end - facts_.begin)) return;
    if (facts_.longest_wait && time <= facts_.longest_wait->time) return;
    facts_.longest_wait = {op.bucket, waits_for, time};
  };
  const TraceOp& last = *last_to_come_.at(key_of(*op.collective));
  if (before != nullptr) {
    consider(busy_until - ready(last), before->bucket >= 0
                                           ? fmt::format("bucket {}", before->bucket)
                                           : fmt::format("the {} before", before->name));
  }
  if (last.rank != op.rank) {
    consider(entry(op).start - std::max(ready(op), busy_until), lane_name(last.rank));
  }
}

void FactsBuilder::add_communication(TimedLane& lane, const std::vector<const TraceOp*>& ops) {
  double busy_until = facts_.begin;
  const TraceOp* before = nullptr;
  for (const TraceOp* op : ops) {
    if (!op->collective) continue;
    add_wait(lane, *op, std::max(ready(*op), busy_until));
    note_wait(*op, before, busy_until);
    busy_until = std::max(busy_until, entry(*op).end);
    TimedBox box = communication_box(*op);
    const bool joins = before != nullptr && before->bucket == op->bucket &&
                       before->phase == op->phase && lane.communication.back().box == box.box;
    if (joins) {
      lane.communication.back().end = box.end;
    } else {
      lane.communication.push_back(std::move(box));
    }
    before = op;
  }
}

void FactsBuilder::add_lane(int rank, const std::vector<const TraceOp*>& ops) {
  TimedLane lane;
  lane.rank = rank;
  lane.name = lane_name(rank);
  if (ps_) lane.kind = ps_->is_worker(rank) ? "workers" : "servers";
  add_compute(lane, ops);
  add_communication(lane, ops);
  facts_.lanes.push_back(std::move(lane));
}

// Ranks in other processes are not in the trace.
std::string FactsBuilder::devices_text() const {
  const std::size_t lanes = facts_.lanes.size();
  const auto devices = static_cast<std::size_t>(trace_.run.devices);
  if (!is_ddp_ && !ps_) return counted(lanes, device_word(trace_));
  if (lanes != devices) return fmt::format("{} of {}", lanes, counted(devices, "rank"));
  return ps_ ? ps_->devices_text() : counted(lanes, "rank");
}

void FactsBuilder::name_slow_ranks() {
  if (!is_ddp_) return;  // elsewhere the ranks have different work
  const auto computing = [](const TimedLane& lane) {
    double sum = 0;
    for (const TimedBox& box : lane.compute) sum += box.end - box.start;
    return sum;
  };
  double fastest = 0;
  for (const TimedLane& lane : facts_.lanes) {
    const double sum = computing(lane);
    if (fastest == 0 || sum < fastest) fastest = sum;
  }
  if (fastest <= 0) return;
  for (TimedLane& lane : facts_.lanes) {
    const double slower = computing(lane) / fastest - 1;
    if (slower >= kNotable) lane.remark = fmt::format("{} % slower", fixed(100 * slower, 0));
  }
}

void FactsBuilder::add_marks() {
  if (!is_ddp_) return;
  std::map<int, double> started;  // by bucket
  double averaged = 0;
  double backward_done = 0;
  for (const auto& [id, times] : entries_) {
    const TraceOp& op = trace_.ops[static_cast<std::size_t>(id)];
    if (op.collective && op.bucket >= 0) {
      started.emplace(op.bucket, ready(*last_to_come_.at(key_of(*op.collective))));
      averaged = std::max(averaged, times->end);
    }
    if (op.phase == Phase::kBackward && op.kind == OpKind::kCompute) {
      backward_done = std::max(backward_done, times->end);
    }
  }
  if (started.empty()) return;
  for (const auto& [bucket, when] : started) {
    if (bucket == started.rbegin()->first) continue;  // ready when the last backward is done
    facts_.marks.push_back({when, Ink::kCommLabel,
                            fmt::format("bucket {} ready{}: {}", bucket,
                                        bucket == 0 ? " everywhere" : "", time(when))});
  }
  facts_.marks.push_back({backward_done, Ink::kComputeLabel,
                          fmt::format("last backward done: {}", time(backward_done))});
  facts_.marks.push_back({averaged, Ink::kCommLabel, fmt::format("averaged: {}", time(averaged))});
  std::stable_sort(facts_.marks.begin(), facts_.marks.end(),
                   [](const TimedMark& a, const TimedMark& b) { return a.time < b.time; });
}

}  // namespace

TimelineFacts timeline_facts(const Trace& trace, const Timeline& timeline, int step) {
  return FactsBuilder(trace, timeline, step).build();
}

}  // namespace ringside
