// The meta world: the same ops with shapes only. It shows what a step would do, and what memory it
// would take, for models and world sizes that do not fit this machine.
#pragma once

#include <memory>

#include "ringside/world.h"

namespace ringside {

/// run() calls the ranks one after the other on the calling thread; when all have ended, calls that
/// not every rank has made are an Error(kDeadlock), as the waits that find them elsewhere never
/// block here. Throws Error(kInvalidArgument) for options that cannot be right.
std::unique_ptr<World> open_meta_world(const WorldOptions& options);

}  // namespace ringside
