// Putting schedules together: one after the other, at the same time, on other ranks, backwards.
#pragma once

#include <functional>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// First all rounds of `first`, then all of `second`.
std::vector<Round> in_sequence(std::vector<Round> first, std::vector<Round> second);

/// Adds the n-th round of `rounds` to the n-th of `all`: parts that run at the same time.
void run_beside(std::vector<Round>& all, const std::vector<Round>& rounds);

/// The same rounds between other ranks: rank r becomes rank_of(r).
std::vector<Round> on_ranks(std::vector<Round> rounds, const std::function<int(int)>& rank_of);

/// The same messages the other way round, last round first: a broadcast becomes a reduce, a scatter
/// a gather.
std::vector<Round> mirrored(std::vector<Round> rounds, Action action);

}  // namespace ringside::schedule
