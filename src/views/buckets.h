// DDP's buckets as one step used them, from the step's ops.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ringside/trace.h"

namespace ringside {

struct StepBucket {
  std::size_t bytes = 0;
  std::vector<std::string> parameters;  ///< in the order in which their gradients got ready
  std::vector<const TraceOp*> ops;      ///< its all-reduce, one op per rank
};

/// A bucket that got gradients in the step, or that one with gradients waits for, and that was not
/// all-reduced.
struct WaitingBucket {
  int number = 0;
  std::size_t bytes = 0;
  std::vector<int> late;  ///< ranks that have not got so far in backward (of a run that failed)
  /// without a gradient on some other rank; none of them missing, it waits for the buckets before
  /// it
  std::vector<std::string> missing;
};

/// In the order of their numbers. Empty where nothing is to be synchronised, and for a step whose
/// buckets were others than TraceRun::buckets.
std::vector<WaitingBucket> waiting_buckets(const Trace& trace, int step);

/// In the order of their numbers. The step's own ops tell, because the buckets of the first step
/// are not those of the second; TraceRun::buckets gives the names where ops have none.
std::vector<StepBucket> buckets_of(const Trace& trace, int step);

/// Whether some rank adds to its gradients in backward once the averages are back in them: a second
/// backward of a step, in which nothing is ready a second time and nothing is sent.
bool adds_after_averaging(const Trace& trace, int step);

/// The bucket that each of one rank's backward ops works for: its own, or that of the next op which
/// has one. Same order as `ops`; -1 where none follows.
std::vector<int> bucket_of_backward(const std::vector<const TraceOp*>& ops);

}  // namespace ringside
