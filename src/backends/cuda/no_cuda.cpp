// The cuda backend where CUDA or NCCL was not found when Ringside was built.
#include "backends/cuda/cuda_world.h"
#include "ringside/error.h"

namespace ringside {

std::string cuda_why_unavailable() {
  return "built without CUDA: install the CUDA toolkit (12 or later, with cuBLAS) and NCCL "
         "(libnccl-dev), configure and build again, or use the sim backend";
}

std::unique_ptr<World> open_cuda_world(const WorldOptions& /*options*/) {
  throw Error(ErrorKind::kUnavailable, cuda_why_unavailable());
}

}  // namespace ringside
