// The mpi backend: one rank per process, host devices, collectives by the stepwise executor over
// point-to-point messages.
#pragma once

#include <memory>
#include <string>

#include "ringside/world.h"

namespace ringside {

/// Empty when MPI was built in.
std::string mpi_why_unavailable();
/// The world of the processes that mpirun started (one process without it). Throws
/// Error(kInvalidArgument) when WorldOptions::size is neither 0 nor their number.
std::unique_ptr<World> open_mpi_world(const WorldOptions& options);

}  // namespace ringside
