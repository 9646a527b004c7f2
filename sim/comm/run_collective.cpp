#include "sim/comm/run_collective.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/all_to_all.h"
#include "comm/rank_buffers.h"
#include "comm/stepwise.h"
#include "schedule/borders.h"
#include "sim/comm/fused.h"

namespace ringside::sim {
namespace {

using Done = std::function<void(std::exception_ptr)>;

// Below this a second core costs more (its wake-up) than it saves.
constexpr std::size_t kBytesPerTask = 256 * 1024;
// Beyond the caches a part gains nothing from staying on a core, but much from an even end.
constexpr std::size_t kTasksPerWorker = 4;

std::vector<RankBuffers> buffers_of(const Schedule& frame, const Meeting& meeting) {
  std::vector<RankBuffers> buffers;
  buffers.reserve(meeting.sides.size());
  for (std::size_t rank = 0; rank < meeting.sides.size(); ++rank) {
    buffers.push_back(rank_buffers(frame, meeting.sides[rank].call, static_cast<int>(rank)));
  }
  return buffers;
}

// A fused collective in flight: each task evaluates one contiguous part of the buffer.
struct FusedRun {
  FusedRun(std::shared_ptr<const FusedPlan> to_run, ReduceOp of, std::vector<RankBuffers> on,
           int into, Done at_end)
      : plan(std::move(to_run)),
        op(of),
        buffers(std::move(on)),
        parts(into),
        open(into),
        done(std::move(at_end)) {}

  std::shared_ptr<const FusedPlan> plan;
  ReduceOp op;
  std::vector<RankBuffers> buffers;
  int parts;
  std::atomic<int> open;
  std::mutex mutex;
  std::exception_ptr error;  // the first; guarded by mutex
  Done done;

  void part(int index) {
    try {
      run_fused(*plan, op, buffers, schedule::even_part(plan->frame.elements, parts, index));
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
    if (open.fetch_sub(1, std::memory_order_acq_rel) == 1) done(error);
  }
};

int part_count(std::size_t bytes, int workers) {
  if (bytes < 2 * kBytesPerTask) return 1;
  const std::size_t most = bytes < kBytesBeyondCaches ? 1 : kTasksPerWorker;
  return static_cast<int>(
      std::min(bytes / kBytesPerTask, most * static_cast<std::size_t>(workers)));
}

// The n-th of equal calls finds its n-th part in the cache of the same core: what belongs to this
// core is done at once, the other parts are posted to theirs.
void run_parts(Engine& engine, int workers, const std::shared_ptr<const FusedPlan>& plan,
               ReduceOp op, const Meeting& meeting, const Done& done) {
  const std::vector<RankBuffers> buffers = buffers_of(plan->frame, meeting);
  const std::size_t elements = plan->frame.elements;
  const int parts =
      part_count(elements * size_of(plan->frame.request.dtype) * buffers.size(), workers);
  if (parts == 1) {
    run_fused(*plan, op, buffers, {0, elements});
    done({});
    return;
  }
  const auto run = std::make_shared<FusedRun>(plan, op, buffers, parts, done);
  const int own = static_cast<int>(engine.own_core()) % parts;
  for (int part = 0; part < parts; ++part) {
    if (part == own) continue;
    engine.post([run, part] { run->part(part); }, static_cast<std::size_t>(part));
  }
  run->part(own);
}

}  // namespace

void run_collective(Engine& engine, int workers, bool stepwise, PlanCache& plans,
                    const Meeting& meeting, const Done& done) {
  const CallSignature& signature = meeting.signature(0);
  if (!stepwise && signature.request.operation == Operation::kAllToAll) {
    Schedule frame;  // its ranges are not used
    frame.request = signature.request;
    engine.post([request = signature.request, buffers = buffers_of(frame, meeting), done] {
      exchange_blocks(request, buffers);
      done({});
    });
    return;
  }
  if (!stepwise) {
    run_parts(engine, workers, plans.plan(signature.request), signature.op, meeting, done);
    return;
  }
  engine.post([&meeting, signature, done] {
    std::exception_ptr error;
    try {
      const Schedule schedule = make_schedule(signature.request);
      run_in_memory(schedule, signature.op, buffers_of(schedule, meeting));
    } catch (...) {
      error = std::current_exception();
    }
    done(error);
  });
}

}  // namespace ringside::sim
