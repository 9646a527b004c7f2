// Small runs of a parameter server, and of the strategies it is compared with.
#pragma once

#include <string>

#include "parallel/small_run.h"

namespace ringside::test {

inline Scenario scenario_of(const std::string& strategy, int replicas) {
  Scenario scenario;
  scenario.strategy = strategy;
  scenario.devices = replicas;
  scenario.model = "mlp:64,16,10";
  scenario.batch_size = 12;
  scenario.steps = 12;
  scenario.lr = 0.2;
  scenario.momentum = 0.5;
  scenario.seed = 3;
  scenario.algorithm = Algorithm::kStar;  // of ddp: adds in rank order, as a server does
  return scenario;
}

inline Scenario server_scenario(int workers, int servers = 1) {
  Scenario scenario = scenario_of("ps", workers + servers);
  scenario.workers = workers;
  scenario.servers = servers;
  return scenario;
}

inline void use_adam(Scenario& scenario) {
  scenario.optimizer = "adam";
  scenario.momentum = 0;
  scenario.lr = 0.01;
}

}  // namespace ringside::test
