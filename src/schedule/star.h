// The star: everything goes through the root, in one round. What classical DataParallel does, and
// NCCL's gather and scatter.
//
// The root sends or receives n-1 messages in the round: the only schedules that are not single
// port. Reduce: the root starts from its own value and adds the others in ascending rank order,
// ((g0 + g1) + g2) + ... for root 0.
#pragma once

#include <span>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

std::vector<Round> star_broadcast(int ranks, int root, Range buffer);
std::vector<Round> star_reduce(int ranks, int root, Range buffer);
/// `blocks` has one range per rank.
std::vector<Round> star_scatter(std::span<const Range> blocks, int root);
std::vector<Round> star_gather(std::span<const Range> blocks, int root);

}  // namespace ringside::schedule
