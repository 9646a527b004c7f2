#include "trace/ready.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <tuple>

namespace ringside {
namespace {

constexpr double kNoEvent = -std::numeric_limits<double>::infinity();

}  // namespace

ReadyTimes::ReadyTimes(const Trace& trace, double beginning)
    : trace_(trace),
      beginning_(beginning),
      previous_(trace.ops.size(), kNoOp),
      ends_(trace.ops.size(), beginning),
      events_(trace.ops.size(), kNoEvent) {
  // Host ops are in order per host thread, the others per stream.
  std::map<std::tuple<int, int, std::string>, OpId> last;
  for (const TraceOp& op : trace.ops) {
    const int stream = op.stream ? static_cast<int>(*op.stream) : -1;
    const auto [found, first] =
        last.try_emplace({op.rank, stream, op.stream ? std::string() : op.host_thread}, op.id);
    if (!first) previous_[static_cast<std::size_t>(op.id)] = found->second;
    found->second = op.id;
  }
}

double ReadyTimes::ready(const TraceOp& op) {
  const OpId before = previous(op.id);
  double& events = events_[static_cast<std::size_t>(op.id)];
  if (before != kNoOp && trace_.ops[static_cast<std::size_t>(before)].kind == OpKind::kWait) {
    events = events_[static_cast<std::size_t>(before)];
  }
  for (const OpId dependency : op.dependencies) {
    if (dependency != before) events = std::max(events, end(dependency));
  }
  if (events != kNoEvent) return events;
  return before == kNoOp ? beginning_ : end(before);
}

}  // namespace ringside
