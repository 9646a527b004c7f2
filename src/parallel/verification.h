// The search for silent faults: ranks whose parameters went apart, and training that is not what a
// single device would have done.
#pragma once

#include <vector>

#include "ringside/scenario.h"
#include "ringside/strategy.h"
#include "ringside/world.h"

namespace ringside {

struct TrainingPlan;

/// Compares checksums of the parameters of `ranks`, which are in ascending order and all call it;
/// others need not. Blocks the host. Throws on every one of them if they differ, so that none waits
/// for another: Error(kTrainingFailed) on the first rank that has not what most of them have of the
/// first parameter that differs (of equal numbers, what the lowest rank has), else
/// Error(kRankFailed); both name parameter, rank and step. Error(kTrainingFailed), too, on a rank
/// whose step left gradients unreduced, or that has ended it while others wait for it in there.
void verify_ranks(Rank& rank, const std::vector<int>& ranks, Strategy& strategy, int step);

/// Compares the module of rank 0 after `step` with plan.single_device, if that is its step:
/// gradients first, then values, each relative to the largest of the whole model. Throws
/// Error(kTrainingFailed) naming the first parameter that differs by more than rounding.
void verify_single_device(const TrainingPlan& plan, const Module& module, int step,
                          Verification& verification);

}  // namespace ringside
