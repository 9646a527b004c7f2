// Carries out a collective whose ranks have all arrived, as tasks of the pool.
#pragma once

#include <exception>
#include <functional>

#include "sim/comm/meeting.h"
#include "sim/comm/plan_cache.h"
#include "sim/device/engine.h"

namespace ringside::sim {

/// Returns at once; `done` is called once, on some thread, with the error if there was one. The
/// buffers in the meeting's calls must stay until then.
void run_collective(Engine& engine, int workers, bool stepwise, PlanCache& plans,
                    const Meeting& meeting, std::function<void(std::exception_ptr)> done);

}  // namespace ringside::sim
