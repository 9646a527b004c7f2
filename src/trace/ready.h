// When an op could have started had its stream and the other ranks been free: TimelineEntry::ready.
#pragma once

#include <vector>

#include "ringside/trace.h"

namespace ringside {

/// An op is ready when the events it waits for are done: its own dependencies beside its stream's
/// previous op, and those of the wait ops directly before it on its stream. An op that waits for no
/// event is ready when its stream's (a host op: its host thread's) previous op has ended.
class ReadyTimes {
 public:
  /// `ends`: the end of every op, by id; what ended before the timeline began has its beginning.
  ReadyTimes(const Trace& trace, double beginning);

  /// The previous op of the same stream, or of the same host thread; kNoOp if none.
  OpId previous(OpId op) const { return previous_[static_cast<std::size_t>(op)]; }
  double end(OpId op) const { return ends_[static_cast<std::size_t>(op)]; }
  void set_end(OpId op, double end) { ends_[static_cast<std::size_t>(op)] = end; }

  /// To be asked once per op, after everything that the op waits for.
  double ready(const TraceOp& op);

 private:
  const Trace& trace_;
  double beginning_;
  std::vector<OpId> previous_;
  std::vector<double> ends_;
  std::vector<double> events_;  // when what op and the waits before it wait for was done
};

}  // namespace ringside
