// Moves the data of a call that all ranks have come to, as tasks of the pool.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/rank_buffers.h"
#include "schedule/borders.h"
#include "sim/comm/fused_plan.h"
#include "sim/device/engine.h"

namespace ringside::sim {

struct Meeting;
class SimGroup;

/// One meeting's. Its lists are kept for the next call, which often is alike.
class DataMove : public PoolTask {
 public:
  /// The calling thread does its part of the work (all, if it is not worth a second core; none of a
  /// long message) before this returns. SimGroup::finish is called once, on some thread, with the
  /// error if there was one; until then the meeting and the buffers of its calls stay as they are.
  void start(SimGroup& group, Meeting& meeting);
  /// One part, and the end of all if it is the last.
  void run(int part) override;

 private:
  void take_buffers(const Schedule& frame);
  void prepare();
  bool leaves_to_others() const;
  void move(int part);

  SimGroup* group_ = nullptr;
  Meeting* meeting_ = nullptr;
  std::shared_ptr<const FusedPlan> plan_;  // of the last call that had one
  std::vector<RankBuffers> buffers_;       // by rank
  bool stepwise_ = false;
  int parts_ = 1;
  std::atomic<int> open_{0};
  std::mutex mutex_;
  Failure error_;  // the first; guarded by mutex_
};

}  // namespace ringside::sim
