// The environment of a launched process is that of a real torchrun 1.13.1, variable by variable.
#include "calculators/launch.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace ringside {
namespace {

using Environment = std::map<std::string, std::string>;

Environment environment_of(const LaunchedProcess& process) {
  return {process.environment.begin(), process.environment.end()};
}

// Printed by a script under torchrun --nproc_per_node 2, without TORCHELASTIC_ERROR_FILE.
TEST(Launch, TheEnvironmentIsTorchruns) {
  const auto processes = launched_processes(1, 2, Launcher::kTorchrun, "127.0.0.1");
  EXPECT_EQ(environment_of(processes[1]), (Environment{{"GROUP_RANK", "0"},
                                                       {"GROUP_WORLD_SIZE", "1"},
                                                       {"LOCAL_RANK", "1"},
                                                       {"LOCAL_WORLD_SIZE", "2"},
                                                       {"MASTER_ADDR", "127.0.0.1"},
                                                       {"MASTER_PORT", "29500"},
                                                       {"NCCL_ASYNC_ERROR_HANDLING", "1"},
                                                       {"OMP_NUM_THREADS", "1"},
                                                       {"RANK", "1"},
                                                       {"ROLE_NAME", "default"},
                                                       {"ROLE_RANK", "1"},
                                                       {"ROLE_WORLD_SIZE", "2"},
                                                       {"TORCHELASTIC_MAX_RESTARTS", "0"},
                                                       {"TORCHELASTIC_RESTART_COUNT", "0"},
                                                       {"TORCHELASTIC_RUN_ID", "none"},
                                                       {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                       {"WORLD_SIZE", "2"}}));
}

// PyTorch 2.2 renamed a variable. [torch/distributed/elastic/agent/server/local_elastic_agent.py]
TEST(Launch, TheLauncherOfVersion2HasItsVariable) {
  const auto processes = [](Launcher launcher) {
    return environment_of(launched_processes(1, 2, launcher, "127.0.0.1")[1]);
  };
  Environment expected = processes(Launcher::kLaunch1);
  EXPECT_EQ(expected.erase("NCCL_ASYNC_ERROR_HANDLING"), 1U);
  expected["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "1";
  EXPECT_EQ(processes(Launcher::kLaunch2), expected);
}

TEST(Launch, NoOtherVariablesDifferBetweenProcesses) {
  const auto names = variables_of_each_process();
  const std::set<std::string> told(names.begin(), names.end());
  std::set<std::string> found;
  const auto processes = launched_processes(2, 2, Launcher::kTorchrun, "node0");
  for (const LaunchedProcess& process : processes) {
    for (const auto& [name, value] : process.environment) {
      if (environment_of(processes.front())[name] != value) found.insert(name);
    }
  }
  EXPECT_EQ(found, told);
}

}  // namespace
}  // namespace ringside
