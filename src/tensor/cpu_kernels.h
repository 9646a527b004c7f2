// The Kernels of host memory, shared by the sim and mpi backends.
#pragma once

#include <memory>

#include "ringside/kernels.h"

namespace ringside {

/// Thread-safe; one object serves all devices of a world.
std::unique_ptr<Kernels> make_cpu_kernels();

}  // namespace ringside
