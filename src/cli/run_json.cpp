// The JSON document of a run.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <variant>

#include "cli/json.h"
#include "cli/run_report.h"
#include "scenario/options.h"

namespace ringside::cli {
namespace {

using nlohmann::ordered_json;

ordered_json event_json(const ScenarioEvent& event) {
  ordered_json json{{"kind", to_string(event.kind)}, {"rank", event.rank}, {"step", event.step}};
  if (!event.parameter.empty()) json["parameter"] = event.parameter;
  if (!event.model.empty()) json["model"] = event.model;
  if (event.amount != 0) json["amount"] = event.amount;
  if (event.kind == ScenarioEvent::Kind::kOtherCollective) {
    json["operation"] = to_string(event.operation);
  }
  return json;
}

ordered_json value_json(const OptionValue& value) {
  return std::visit(
      [](const auto& held) {
        constexpr bool is_given = !std::is_same_v<std::decay_t<decltype(held)>, std::monostate>;
        if constexpr (is_given) return ordered_json(held);
        return ordered_json(nullptr);
      },
      value);
}

ordered_json scenario_json(const Scenario& scenario) {
  ordered_json json;
  for (const ScenarioOption& option : scenario_options()) {
    if (option.get == nullptr) continue;
    std::string key(option.name);
    std::replace(key.begin(), key.end(), '-', '_');
    json[key] = value_json(option.get(scenario));
  }
  json["events"] = ordered_json::array();
  for (const ScenarioEvent& event : scenario.events) json["events"].push_back(event_json(event));
  return json;
}

ordered_json account_json(const MemoryAccount& account) {
  ordered_json at_peak = ordered_json::object();
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
    at_peak[std::string(to_string(static_cast<MemoryKind>(kind)))] = account.at_peak[kind];
  }
  return {{"capacity", account.capacity},
          {"used", account.used},
          {"peak", account.peak},
          {"at_peak", std::move(at_peak)}};
}

ordered_json verification_json(const std::optional<Verification>& verification) {
  if (!verification) return nullptr;
  const int step = verification->single_step;
  return {{"steps", verification->steps},
          {"ranks", verification->ranks},
          {"single_step", step < 0 ? ordered_json(nullptr) : ordered_json(step)},
          {"not_compared", verification->not_compared},
          {"largest_difference", verification->largest_difference},
          {"parameter", verification->parameter}};
}

}  // namespace

std::string run_document(const RunReport& report, const std::vector<std::string>& files) {
  ordered_json document = make_document("run");
  document["scenario"] = scenario_json(report.scenario);
  document["steps"] = report.steps;
  document["first_step"] = report.first_step;
  document["epochs"] = ordered_json::array();
  for (const EpochReport& epoch : report.epochs) {
    document["epochs"].push_back({{"epoch", epoch.epoch},
                                  {"loss", epoch.loss},
                                  {"test_loss", epoch.test_loss},
                                  {"test_accuracy", epoch.test_accuracy},
                                  {"seconds", epoch.seconds}});
  }
  document["step_losses"] = report.step_losses;
  document["parameters"] = report.parameters;
  document["parameter_bytes"] = report.parameter_bytes;
  document["checksum"] = report.checksum;
  document["rank_checksums"] = report.rank_checksums;
  document["rank_parameter_checksums"] = report.rank_parameter_checksums;
  const auto& calls = report.counted_calls;
  document["counted_calls"] =
      calls ? ordered_json{{"attribute", calls->attribute}, {"buffer", calls->buffer}}
            : ordered_json(nullptr);
  document["warnings"] = report.warnings;
  document["verification"] = verification_json(report.verification);
  document["memory"] = ordered_json::array();
  for (const MemoryAccount& account : report.memory) {
    document["memory"].push_back(account_json(account));
  }
  document["first_step_seconds"] = report.first_step_seconds;
  document["seconds"] = report.seconds;
  document["files"] = files;
  return to_text(document);
}

}  // namespace ringside::cli
