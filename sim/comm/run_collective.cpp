#include "sim/comm/run_collective.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "comm/rank_buffers.h"
#include "comm/stepwise.h"
#include "schedule/borders.h"
#include "sim/comm/fused.h"

namespace ringside::sim {
namespace {

using Done = std::function<void(std::exception_ptr)>;

// Below this a second core costs more (its wake-up) than it saves.
constexpr std::size_t kBytesPerTask = 256 * 1024;

std::vector<RankBuffers> buffers_of(const Schedule& frame, const Meeting& meeting) {
  std::vector<RankBuffers> buffers;
  buffers.reserve(meeting.sides.size());
  for (std::size_t rank = 0; rank < meeting.sides.size(); ++rank) {
    buffers.push_back(rank_buffers(frame, meeting.sides[rank].call, static_cast<int>(rank)));
  }
  return buffers;
}

// Runs `task` and hands on what it throws.
template <typename Task>
std::exception_ptr caught(Task task) {
  try {
    task();
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

// A fused collective in flight: each task evaluates one contiguous part of the buffer.
struct FusedRun {
  std::shared_ptr<const FusedPlan> plan;
  ReduceOp op;
  std::vector<RankBuffers> buffers;
  std::atomic<int> open;
  Done done;

  void part(Range elements) {
    run_fused(*plan, op, buffers, elements);
    if (open.fetch_sub(1, std::memory_order_acq_rel) == 1) done({});
  }
};

void post_fused(Engine& engine, int workers, std::shared_ptr<const FusedPlan> plan, ReduceOp op,
                const Meeting& meeting, Done done) {
  auto run = std::make_shared<FusedRun>();
  run->buffers = buffers_of(plan->frame, meeting);
  run->op = op;
  run->done = std::move(done);
  run->plan = std::move(plan);
  const std::size_t elements = run->plan->frame.elements;
  const std::size_t bytes =
      elements * size_of(run->plan->frame.request.dtype) * meeting.sides.size();
  const int parts = static_cast<int>(
      std::clamp<std::size_t>(bytes / kBytesPerTask, 1, static_cast<std::size_t>(workers)));
  run->open = parts;
  for (int part = 0; part < parts; ++part) {
    engine.post(
        [run, elements = schedule::even_part(elements, parts, part)] { run->part(elements); });
  }
}

}  // namespace

void run_collective(Engine& engine, int workers, bool stepwise, PlanCache& plans,
                    const Meeting& meeting, Done done) {
  const CallSignature& signature = meeting.signature(0);
  if (!stepwise) {
    post_fused(engine, workers, plans.plan(signature.request), signature.op, meeting,
               std::move(done));
    return;
  }
  engine.post([&meeting, signature, done = std::move(done)] {
    done(caught([&] {
      const Schedule schedule = make_schedule(signature.request);
      run_in_memory(schedule, signature.op, buffers_of(schedule, meeting));
    }));
  });
}

}  // namespace ringside::sim
