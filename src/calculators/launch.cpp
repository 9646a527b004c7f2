#include "calculators/launch.h"

#include <fmt/format.h>

#include <array>

#include "ringside/error.h"

namespace ringside {
namespace {

std::vector<std::string> added_arguments(Launcher launcher, int local_rank) {
  switch (launcher) {
    case Launcher::kLaunch1:
      return {fmt::format("--local_rank={}", local_rank)};
    case Launcher::kLaunch2:
      return {fmt::format("--local-rank={}", local_rank)};
    case Launcher::kTorchrun:
      break;
  }
  return {};
}

}  // namespace

std::span<const std::string_view> variables_of_each_process() {
  static constexpr std::array<std::string_view, 4> kNames{"RANK", "LOCAL_RANK", "GROUP_RANK",
                                                          "ROLE_RANK"};
  return kNames;
}

Launcher parse_launcher(std::string_view name) {
  if (name == "torchrun") return Launcher::kTorchrun;
  if (name == "launch-1") return Launcher::kLaunch1;
  if (name == "launch-2") return Launcher::kLaunch2;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("launcher '{}': must be torchrun, launch-1 or launch-2", name));
}

std::vector<LaunchedProcess> launched_processes(int nodes, int per_node, Launcher launcher,
                                                const std::string& master_address) {
  std::vector<LaunchedProcess> processes;
  const int world = nodes * per_node;
  for (int rank = 0; rank < world; ++rank) {
    LaunchedProcess process{rank / per_node, rank, rank % per_node, {}, {}};
    process.arguments = added_arguments(launcher, process.local_rank);
    const auto set = [&](const char* name, const std::string& value) {
      process.environment.emplace_back(name, value);
    };
    set("RANK", std::to_string(rank));
    set("LOCAL_RANK", std::to_string(process.local_rank));
    set("WORLD_SIZE", std::to_string(world));
    set("LOCAL_WORLD_SIZE", std::to_string(per_node));
    set("GROUP_RANK", std::to_string(process.node));
    set("GROUP_WORLD_SIZE", std::to_string(nodes));
    set("ROLE_NAME", "default");
    set("ROLE_RANK", std::to_string(rank));
    set("ROLE_WORLD_SIZE", std::to_string(world));
    set("MASTER_ADDR", master_address);
    set("MASTER_PORT", "29500");
    set("TORCHELASTIC_RESTART_COUNT", "0");
    set("TORCHELASTIC_MAX_RESTARTS", "0");
    set("TORCHELASTIC_RUN_ID", "none");           // --rdzv_id's default
    set("TORCHELASTIC_USE_AGENT_STORE", "True");  // the static rendezvous: the launcher hosts it
    set(launcher == Launcher::kLaunch2 ? "TORCH_NCCL_ASYNC_ERROR_HANDLING"
                                       : "NCCL_ASYNC_ERROR_HANDLING",
        "1");
    if (per_node > 1) set("OMP_NUM_THREADS", "1");
    processes.push_back(std::move(process));
  }
  return processes;
}

}  // namespace ringside
