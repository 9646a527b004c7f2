// What a world on host devices (sim, mpi) takes over from its options for its engine.
#pragma once

#include "ringside/world.h"
#include "sim/device/engine.h"

namespace ringside::sim {

/// Throws Error(kInvalidArgument) for a RINGSIDE_LAUNCH_BLOCKING that is neither 0 nor 1.
EngineOptions engine_options(const WorldOptions& options);

}  // namespace ringside::sim
