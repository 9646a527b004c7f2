#include "sim/comm/plan_cache.h"

namespace ringside::sim {

std::shared_ptr<const FusedPlan> PlanCache::plan(const ScheduleRequest& request) {
  const std::lock_guard lock(mutex_);
  for (auto entry = plans_.begin(); entry != plans_.end(); ++entry) {
    if ((*entry)->frame.request == request) {
      plans_.splice(plans_.begin(), plans_, entry);
      return plans_.front();
    }
  }
  plans_.push_front(std::make_shared<const FusedPlan>(make_fused_plan(make_schedule(request))));
  if (plans_.size() > kCapacity) plans_.pop_back();
  return plans_.front();
}

}  // namespace ringside::sim
