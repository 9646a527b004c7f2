// A short training for the tests of checkpoints.
#pragma once

#include <string>

#include "ringside/scenario.h"

namespace ringside::test {

inline RunReport run_quietly(const Scenario& scenario) {
  return run_scenario(scenario, {}, nullptr, {});
}

inline Scenario small_scenario(const std::string& strategy, int devices) {
  Scenario scenario;
  scenario.strategy = strategy;
  scenario.devices = devices;
  scenario.model = "mlp:64,16,10";
  scenario.data = "random:150:64:10";  // 125 to train on: epochs end with a smaller batch
  scenario.batch_size = strategy == "ddp" || strategy == "ps" ? 8 : 26;
  scenario.steps = 13;
  scenario.seed = 5;
  return scenario;
}

}  // namespace ringside::test
