// The JSON document of a run.
#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "cli/run_report.h"

namespace ringside::cli {
namespace {

using nlohmann::ordered_json;

template <typename Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json event_json(const ScenarioEvent& event) {
  ordered_json json{{"kind", to_string(event.kind)}, {"rank", event.rank}, {"step", event.step}};
  if (!event.parameter.empty()) json["parameter"] = event.parameter;
  if (event.amount != 0) json["amount"] = event.amount;
  if (event.kind == ScenarioEvent::Kind::kOtherCollective) {
    json["operation"] = to_string(event.operation);
  }
  return json;
}

ordered_json scenario_json(const Scenario& s) {
  ordered_json json;
  json["strategy"] = s.strategy;
  json["backend"] = s.backend;
  json["devices"] = s.devices;
  json["model"] = s.model;
  json["data"] = s.data;
  json["batch_size"] = s.batch_size;
  json["epochs"] = or_null(s.epochs);
  json["steps"] = or_null(s.steps);
  json["optimizer"] = s.optimizer;
  json["lr"] = s.lr;
  json["momentum"] = s.momentum;
  json["weight_decay"] = s.weight_decay;
  json["nesterov"] = s.nesterov;
  json["beta1"] = s.beta1;
  json["beta2"] = s.beta2;
  json["eps"] = s.epsilon;
  json["clip_grad_norm"] = s.clip_grad_norm;
  json["seed"] = s.seed;
  json["dtype"] = to_string(s.dtype);
  json["device_ids"] = s.device_ids;
  json["output_device"] = or_null(s.output_device);
  json["chunk_sizes"] = s.chunk_sizes;
  json["bucket_cap_mb"] = s.bucket_cap_mb;
  json["first_bucket_mb"] = s.first_bucket_mb;
  json["broadcast_buffers"] = s.broadcast_buffers;
  json["algorithm"] = to_string(s.algorithm);
  json["direction"] = to_string(s.direction);
  json["border"] = to_string(s.border);
  json["memory"] = s.memory;
  json["sim_workers"] = s.sim_workers;
  json["stepwise"] = s.stepwise;
  json["loader_workers"] = s.loader_workers;
  json["pin_memory"] = s.pin_memory;
  json["non_blocking"] = s.non_blocking;
  json["shuffle"] = s.shuffle;
  json["events"] = ordered_json::array();
  for (const ScenarioEvent& event : s.events) json["events"].push_back(event_json(event));
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

}  // namespace

std::string run_document(const RunReport& report, const std::vector<std::string>& files) {
  ordered_json document = make_document("run");
  document["scenario"] = scenario_json(report.scenario);
  document["steps"] = report.steps;
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
