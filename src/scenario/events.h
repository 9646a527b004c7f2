// What each kind of event needs, in one table.
#pragma once

#include <span>
#include <string_view>

#include "ringside/scenario.h"

namespace ringside {

struct EventRule {
  ScenarioEvent::Kind kind;
  std::string_view name;
  bool parameter;  ///< names a parameter
  bool amount;     ///< has an amount
  bool operation;  ///< names a collective
  /// the strategies that can express it, separated by blanks
  std::string_view strategies;
  bool model = false;  ///< names a model
};
std::span<const EventRule> event_rules();
const EventRule& rule_of(ScenarioEvent::Kind kind);

/// Checks one event against the scenario. Throws Error(kInvalidArgument) that begins with the kind:
/// "perturb: parameter: must be named".
void check_event(const Scenario& scenario, const ScenarioEvent& event);

}  // namespace ringside
