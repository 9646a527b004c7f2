// Carries out a collective whose ranks have all arrived, as tasks of the pool.
#pragma once

#include <exception>
#include <functional>

#include "sim/comm/meeting.h"
#include "sim/comm/plan_cache.h"
#include "sim/device/engine.h"

namespace ringside::sim {

/// The calling thread does its part of the work (all, if it is not worth a second core) before this
/// returns. `done` is called once, on some thread, with the error if there was one. The buffers in
/// the meeting's calls must stay until then.
void run_collective(Engine& engine, int workers, bool stepwise, PlanCache& plans,
                    const Meeting& meeting, const std::function<void(std::exception_ptr)>& done);

}  // namespace ringside::sim
