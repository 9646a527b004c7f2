// The simulated world: all ranks in this process, each with a device of its own, on one engine.
#pragma once

#include <memory>

#include "ringside/world.h"

namespace ringside {

/// World sizes from 1 to kPhysicalDevices; RINGSIDE_VISIBLE_DEVICES chooses the devices. Throws
/// Error(kInvalidArgument) for options that cannot be right.
std::unique_ptr<World> open_sim_world(const WorldOptions& options);

}  // namespace ringside
