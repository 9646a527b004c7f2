// Small runs that tests change a little, and their errors.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ringside/error.h"
#include "ringside/scenario.h"

namespace ringside::test {

inline Scenario small_scenario(const std::string& strategy, int devices) {
  Scenario scenario;
  scenario.strategy = strategy;
  scenario.devices = devices;
  scenario.model = "mlp:64,16,10";
  scenario.batch_size = strategy == "ddp" ? 48 / devices : 48;
  scenario.steps = 40;
  scenario.lr = 0.2;
  scenario.momentum = 0.5;
  scenario.seed = 3;
  return scenario;
}

inline RunReport run_quietly(const Scenario& scenario) {
  return run_scenario(scenario, {}, nullptr, {});
}

/// Of a run that must end with an error of this kind.
inline std::string error_of(const Scenario& scenario, ErrorKind kind) {
  try {
    run_quietly(scenario);
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    return error.what();
  }
  return "no error";
}

inline ScenarioEvent event_of(ScenarioEvent::Kind kind, int rank, int step) {
  ScenarioEvent event;
  event.kind = kind;
  event.rank = rank;
  event.step = step;
  return event;
}

}  // namespace ringside::test
