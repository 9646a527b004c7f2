// What a launcher gives each process of a training run. [torch/distributed/run.py, launch.py,
// elastic/agent/server/local_elastic_agent.py, of 1.13]
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside {

enum class Launcher : std::uint8_t {
  kTorchrun,
  kLaunch1,  ///< python -m torch.distributed.launch up to 1.13: --local_rank=N
  kLaunch2   ///< the same of 2.2 and later: --local-rank=N, TORCH_NCCL_ASYNC_ERROR_HANDLING
};
/// "torchrun", "launch-1", "launch-2". Throws Error(kInvalidArgument) listing them.
Launcher parse_launcher(std::string_view name);

struct LaunchedProcess {
  int node = 0;
  int rank = 0;                        ///< of all processes
  int local_rank = 0;                  ///< in its node; also the number of its GPU there
  std::vector<std::string> arguments;  ///< that the launcher adds to the script's own
  std::vector<std::pair<std::string, std::string>> environment;
};

/// Of the environment, the variables that differ between processes.
std::span<const std::string_view> variables_of_each_process();

/// Node by node, with a static rendezvous at `master_address` and port 29500, and neither
/// OMP_NUM_THREADS nor [TORCH_]NCCL_ASYNC_ERROR_HANDLING set before. Of what the launcher sets
/// TORCHELASTIC_ERROR_FILE alone is left out: a path that every run makes anew.
std::vector<LaunchedProcess> launched_processes(int nodes, int per_node, Launcher launcher,
                                                const std::string& master_address);

}  // namespace ringside
