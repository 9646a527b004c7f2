// The fused plans of a communicator: a training step repeats a handful of calls.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "sim/comm/fused_plan.h"

namespace ringside::sim {

/// Threads: any.
class PlanCache {
 public:
  /// The plan of `request`, made if it is not among the last kCapacity that were asked for.
  std::shared_ptr<const FusedPlan> plan(const ScheduleRequest& request);

 private:
  static constexpr std::size_t kCapacity = 64;
  std::mutex mutex_;
  std::list<std::shared_ptr<const FusedPlan>> plans_;  // most recently used first
};

}  // namespace ringside::sim
