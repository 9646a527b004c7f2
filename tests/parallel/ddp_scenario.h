// Small runs of DistributedDataParallel from a scenario.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ringside/error.h"
#include "ringside/scenario.h"
#include "support/error_text.h"

namespace ringside::test {

inline Scenario two_ranks() {
  Scenario scenario;
  scenario.devices = 2;
  scenario.model = "mlp:64,16,10";
  scenario.batch_size = 16;
  scenario.steps = 6;
  scenario.momentum = 0.5;
  scenario.dtype = DType::kFloat64;
  return scenario;
}

inline RunReport run(const Scenario& scenario) { return run_scenario(scenario, {}, nullptr, {}); }

inline bool ranks_agree(const RunReport& report) {
  return std::set<std::string>(report.rank_checksums.begin(), report.rank_checksums.end()).size() ==
         1;
}

inline std::string error_of(const Scenario& scenario) {
  try {
    run(scenario);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline void add_event(Scenario& scenario, ScenarioEvent::Kind kind, int rank, int step,
                      double amount = 0) {
  ScenarioEvent event;
  event.kind = kind;
  event.rank = rank;
  event.step = step;
  event.amount = amount;
  scenario.events.push_back(event);
}

inline Error failure_of(const Scenario& scenario) {
  try {
    run(scenario);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::kIo, "no error"};
}

}  // namespace ringside::test
