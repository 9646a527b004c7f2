// Replay: a discrete-event simulation of a trace on a machine of constant rates.
//
// The unit that starts and ends is an activity: one op, or all ranks' ops of one collective. An
// activity starts when everything that its ops wait for has ended: what they depend on, the
// previous op of their stream or host thread. Since nothing else delays it (each collective has the
// links to itself), the order in which activities are looked at does not matter, and the times are
// exact sums.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "ringside/error.h"
#include "ringside/timeline.h"
#include "sim/replay/cost.h"
#include "trace/collective_key.h"
#include "trace/ready.h"

namespace ringside {
namespace {

class Replay {
 public:
  Replay(const Trace& trace, const Rates& rates, int step)
      : trace_(trace),
        step_(step),
        cost_(trace, rates),
        times_(trace, 0),
        activity_of_(trace.ops.size(), kNone),
        entries_(trace.ops.size()) {
    timeline_.source = TimelineSource::kReplayed;
    timeline_.machine = rates.name;
    form_activities();
    connect_activities();
  }

  Timeline run() {
    std::vector<std::size_t> startable;
    for (std::size_t i = 0; i < activities_.size(); ++i) {
      if (activities_[i].waits_for == 0) startable.push_back(i);
    }
    std::size_t done = 0;
    for (; done < startable.size(); ++done) {
      const Activity& activity = activities_[startable[done]];
      perform(activity);
      for (const std::size_t next : activity.followers) {
        if (--activities_[next].waits_for == 0) startable.push_back(next);
      }
    }
    if (done < activities_.size()) throw_circle();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (activity_of_[i] != kNone) timeline_.entries.push_back(entries_[i]);
    }
    return std::move(timeline_);
  }

 private:
  struct Activity {
    std::vector<OpId> ops;
    std::vector<std::size_t> followers;
    std::size_t waits_for = 0;  // activities that have not ended
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  const TraceOp& op(OpId id) const { return trace_.ops[static_cast<std::size_t>(id)]; }
  bool asked(const TraceOp& op) const { return step_ < 0 ? op.step >= 0 : op.step == step_; }

  void form_activities() {
    std::map<CollectiveKey, std::size_t> joint;
    for (const TraceOp& op : trace_.ops) {
      if (!asked(op)) continue;
      std::size_t activity = activities_.size();
      if (op.collective)
        activity = joint.try_emplace(key_of(*op.collective), activity).first->second;
      if (activity == activities_.size()) activities_.emplace_back();
      activities_[activity].ops.push_back(op.id);
      activity_of_[static_cast<std::size_t>(op.id)] = activity;
    }
  }

  void connect_activities() {
    for (const TraceOp& op : trace_.ops) {
      if (!asked(op)) continue;
      for (const OpId dependency : op.dependencies) connect(dependency, op.id);
      if (times_.previous(op.id) != kNoOp) connect(times_.previous(op.id), op.id);
    }
  }

  void connect(OpId before, OpId after) {
    const std::size_t first = activity_of_[static_cast<std::size_t>(before)];
    if (first == kNone) return;  // of an earlier step: has ended
    const std::size_t second = activity_of_[static_cast<std::size_t>(after)];
    activities_[first].followers.push_back(second);
    ++activities_[second].waits_for;
  }

  void perform(const Activity& activity) {
    double start = 0;
    for (const OpId id : activity.ops) {
      TimelineEntry& entry = entries_[static_cast<std::size_t>(id)];
      entry.op = id;
      entry.ready = times_.ready(op(id));
      for (const OpId dependency : op(id).dependencies) {
        start = std::max(start, times_.end(dependency));
      }
      if (times_.previous(id) != kNoOp) start = std::max(start, times_.end(times_.previous(id)));
    }
    const double end = start + cost_.seconds(op(activity.ops.front()));
    for (const OpId id : activity.ops) {
      TimelineEntry& entry = entries_[static_cast<std::size_t>(id)];
      entry.start = start;
      entry.end = end;
      times_.set_end(id, end);
    }
  }

  [[noreturn]] void throw_circle() const {
    for (const Activity& activity : activities_) {
      if (activity.waits_for == 0) continue;
      const TraceOp& stuck = op(activity.ops.front());
      throw Error(ErrorKind::kInvalidInput,
                  fmt::format("ops[{}] ({} of rank {}) never starts: ops wait for each other in a "
                              "circle",
                              stuck.id, stuck.name, stuck.rank),
                  "the ranks' collectives must come in the same order");
    }
    throw Error(ErrorKind::kInvalidInput, "ops wait for each other in a circle");
  }

  const Trace& trace_;
  int step_;
  CostModel cost_;
  ReadyTimes times_;
  std::vector<std::size_t> activity_of_;  // by op; kNone: not asked for
  std::vector<TimelineEntry> entries_;    // by op
  std::vector<Activity> activities_;
  Timeline timeline_;
};

}  // namespace

Timeline replay(const Trace& trace, const Rates& rates, int step) {
  return Replay(trace, rates, step).run();
}

}  // namespace ringside
