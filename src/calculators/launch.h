// What a launcher gives each process of a training run. [torch/distributed/run.py, launch.py]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside {

enum class Launcher : std::uint8_t {
  kTorchrun,
  kLaunch1,  ///< python -m torch.distributed.launch up to 1.13: --local_rank=N
  kLaunch2   ///< the same from 2.0 on: --local-rank=N
};
/// "torchrun", "launch-1", "launch-2". Throws Error(kInvalidArgument) listing them.
Launcher parse_launcher(std::string_view name);

struct LaunchedProcess {
  int node = 0;
  int rank = 0;                        ///< of all processes
  int local_rank = 0;                  ///< in its node; also the number of its GPU there
  std::vector<std::string> arguments;  ///< that the launcher adds to the script's own
  std::vector<std::pair<std::string, std::string>> environment;  ///< that a script reads
};

/// Node by node, with a static rendezvous at `master_address` and port 29500, and OMP_NUM_THREADS
/// unset before.
std::vector<LaunchedProcess> launched_processes(int nodes, int per_node, Launcher launcher,
                                                const std::string& master_address);

}  // namespace ringside
