// The order in which an asynchronous parameter server serves its workers.
//
// On real machines it comes from timing; here it is drawn from a seed, so that a run can be
// repeated bit for bit, and every server draws the same one. Stale synchronous parallel: a worker
// may begin a step only while it is at most `staleness` steps ahead of the slowest; one that has
// taken all its steps holds nobody back.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "ringside/nn.h"

namespace ringside {

struct ServerTurn {
  enum class Kind : std::uint8_t { kPull, kPush };
  Kind kind = Kind::kPull;
  int worker = 0;
  int step = 0;  ///< of the worker, counted from 0 in each epoch
  int age = 0;   ///< of a push: pushes of others since the worker's pull, so updates it missed
  bool operator==(const ServerTurn&) const = default;
};

/// The turns of one epoch, one after the other. A worker pulls as soon as it may, in the order of
/// workers where several may; which of those that compute pushes next is drawn. Each worker's turns
/// alternate between pull and push.
class AsynchronousOrder {
 public:
  /// `steps` of each worker.
  AsynchronousOrder(std::vector<int> steps, int staleness, std::uint64_t seed);
  /// None when every worker has pushed all its steps.
  std::optional<ServerTurn> next();

 private:
  /// Of the workers that have steps left.
  void find_slowest();
  /// Lets every worker pull that may.
  void begin_steps();
  /// Lets `worker` pull if it may.
  void begin_step(int worker);
  ServerTurn pull();
  ServerTurn push();

  std::vector<int> steps_;
  int staleness_;
  Generator generator_;
  std::vector<int> finished_;            // steps of each worker
  std::vector<std::int64_t> pulled_at_;  // in pushes so far
  std::int64_t pushes_ = 0;
  int slowest_ = 0;                   // steps that every worker with steps left has finished
  std::int64_t slowest_workers_ = 0;  // workers that have finished no more
  std::vector<int> computing_;  // workers that may pull, or have pulled and not pushed; ascending
  std::deque<int> pulling_;     // of them, those that may pull
};

}  // namespace ringside
