// The options of a run, in one table: the command line, scenario files, help, shell completion,
// the scenario in JSON and Scenario::validate are all made from it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "scenario/option_values.h"
#include "scenario/run_request.h"

namespace ringside {

/// How a value is written; a scenario file holds it to the TOML type of the same meaning.
enum class ValueForm : std::uint8_t { kText, kInteger, kNumber, kFlag, kIntegers, kBytes };

struct ScenarioOption {
  std::string_view name;  ///< "batch-size": --batch-size, and batch-size = ... in a file
  ValueForm form = ValueForm::kText;
  std::string_view value = {};    ///< the value's name in help: "N"; empty for flags
  std::string_view help = {};     ///< one sentence
  std::string_view heading = {};  ///< the group in help
  /// the only strategies it means something to, separated by blanks; empty = all
  std::string_view strategies = {};
  std::string_view optimizers = {};  ///< likewise
  std::string_view choices =
      {};  ///< values for completion, separated by blanks; "FILE" and "DIR" too
  /// The value in a scenario; null of what is no part of it (where results go).
  OptionValue (*get)(const Scenario& scenario) = nullptr;
  /// Sets the value. Throws Error(kInvalidArgument) that begins with the option's name.
  void (*set)(RunRequest& request, std::string_view name, std::string_view text) = nullptr;
  /// Checks the value alone; null where every value that can be written is good.
  void (*check)(const Scenario& scenario, std::string_view name) = nullptr;
};

std::span<const ScenarioOption> scenario_options();
/// Null if there is none.
const ScenarioOption* find_scenario_option(std::string_view name);

/// Sets one option and notes it as given.
void set_option(RunRequest& request, const ScenarioOption& option, std::string_view text);

/// Checks an option that was set, when all are set: its own value, and that it means something to
/// the strategy and the optimiser. Throws Error(kInvalidArgument) that begins with the option's
/// name: "bucket-cap-mb: has no meaning for strategy dp, only for ddp".
void check_option(const Scenario& scenario, const ScenarioOption& option);

}  // namespace ringside
