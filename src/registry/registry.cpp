// The one place that knows every backend: a line for each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "backends/cuda/cuda_world.h"
#include "backends/meta/meta_world.h"
#include "backends/mpi/mpi_world.h"
#include "ringside/error.h"
#include "ringside/world.h"
#include "sim/comm/sim_world.h"

namespace ringside {
namespace {

std::string always_available() { return {}; }

}  // namespace

const Backend& find_backend(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Backend& backend : backends()) {
    if (backend.name == name) return backend;
    names.push_back(backend.name);
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("backend '{}': must be one of {}", name, fmt::join(names, ", ")));
}

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = {
      {"sim", "simulated devices on CPU threads, with real numbers", always_available,
       open_sim_world, true},
      {"meta", "shapes only: records steps of any size, runs nothing", always_available,
       open_meta_world},
      {"cuda",
       "real GPUs, one rank each, with NCCL between them: every kernel, all-reduce and "
       "broadcast; not yet run on a GPU",
       cuda_why_unavailable, open_cuda_world},
      {"mpi", "real processes over MPI, one rank each, on host memory", mpi_why_unavailable,
       open_mpi_world, true, true},
  };
  return all;
}

std::unique_ptr<World> open_world(std::string_view backend, const WorldOptions& options) {
  const Backend& found = find_backend(backend);
  const std::string reason = found.why_unavailable();
  if (!reason.empty()) {
    throw Error(ErrorKind::kUnavailable, fmt::format("backend '{}': {}", backend, reason),
                "use --backend sim instead: it runs everywhere");
  }
  return found.open(options);
}

}  // namespace ringside
