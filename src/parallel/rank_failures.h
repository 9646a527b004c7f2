// Why ranks that have a training loop of their own could not go on together.
#pragma once

#include <vector>

#include "parallel/trainer.h"
#include "ringside/error.h"

namespace ringside {

/// `error`, which ended the ranks, with a hint at what led to it: a rank that stopped, or that had
/// no batch left. `results` are of the local ranks, from rank `first` on.
Error with_cause(const Error& error, const TrainingPlan& plan,
                 const std::vector<TrainingResult>& results, int first);

/// Throws Error(kRankFailed) if a local rank stopped: a training that all ranks left has ended
/// without an error of its own, and is none.
void check_nobody_stopped(const TrainingPlan& plan, const std::vector<TrainingResult>& results,
                          int first);

}  // namespace ringside
