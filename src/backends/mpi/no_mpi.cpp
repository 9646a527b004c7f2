// The mpi backend where MPI was not found when Ringside was built.
#include "backends/mpi/mpi_world.h"
#include "ringside/error.h"

namespace ringside {

std::string mpi_why_unavailable() {
  return "built without MPI: install libopenmpi-dev and openmpi-bin, configure and build again, or "
         "use the sim backend";
}

std::unique_ptr<World> open_mpi_world(const WorldOptions&) {
  throw Error(ErrorKind::kUnavailable, mpi_why_unavailable());
}

}  // namespace ringside
