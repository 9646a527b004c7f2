// The table of options.h.
#include "scenario/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "ringside/error.h"
#include "scenario/ddp_options.h"
#include "scenario/option_rules.h"
#include "scenario/placement_options.h"
#include "scenario/result_options.h"
#include "scenario/training_options.h"

namespace ringside {
namespace {

using namespace option_rules;

constexpr auto kAllOptions = [] {
  std::array<ScenarioOption, kTrainingOptions.size() + kPlacementOptions.size() +
                                 kResultOptions.size() + kDdpOptions.size()>
      all;
  auto* next = std::copy(kTrainingOptions.begin(), kTrainingOptions.end(), all.begin());
  next = std::copy(kPlacementOptions.begin(), kPlacementOptions.end(), next);
  next = std::copy(kResultOptions.begin(), kResultOptions.end(), next);
  std::copy(kDdpOptions.begin(), kDdpOptions.end(), next);
  return all;
}();

}  // namespace

std::span<const ScenarioOption> scenario_options() { return kAllOptions; }

const ScenarioOption* find_scenario_option(std::string_view name) {
  const auto found =
      std::find_if(kAllOptions.begin(), kAllOptions.end(),
                   [&](const ScenarioOption& option) { return option.name == name; });
  return found == kAllOptions.end() ? nullptr : &*found;
}

void set_option(RunRequest& request, const ScenarioOption& option, std::string_view text) {
  option.set(request, option.name, text);
  request.given.push_back(option.name);
}

void check_option(const Scenario& scenario, const ScenarioOption& option) {
  if (option.check != nullptr) option.check(scenario, option.name);
  const auto check_meaning = [&](Text choices, Text kind, Text chosen) {
    if (choices.empty() || is_listed(chosen, choices)) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: has no meaning for {} {}, only for {}", option.name, kind, chosen,
                            choices),
                fmt::format("leave {} out, or choose another {}", option.name, kind));
  };
  check_meaning(option.strategies, "strategy", scenario.strategy);
  check_meaning(option.optimizers, "optimizer", scenario.optimizer);
}

}  // namespace ringside
