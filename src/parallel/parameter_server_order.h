// The order in which an asynchronous parameter server serves its workers.
//
// On real machines it comes from timing; here it is drawn from a seed, so that a run can be
// repeated bit for bit, and every server draws the same one. Stale synchronous parallel: a worker
// may begin a step only while it is at most `staleness` steps ahead of the slowest.
#pragma once

#include <cstdint>
#include <vector>

namespace ringside {

struct ServerTurn {
  enum class Kind : std::uint8_t { kPull, kPush };
  Kind kind = Kind::kPull;
  int worker = 0;
  int step = 0;  ///< of the worker, counted from 0 in each epoch
  int age = 0;   ///< of a push: pushes of others since the worker's pull, so updates it missed
  bool operator==(const ServerTurn&) const = default;
};

/// All turns of one epoch. A worker pulls as soon as it may, in the order of workers where several
/// may; which of those that compute pushes next is drawn. Each worker's turns alternate between
/// pull and push.
std::vector<ServerTurn> asynchronous_order(int workers, int steps, int staleness,
                                           std::uint64_t seed);

}  // namespace ringside
