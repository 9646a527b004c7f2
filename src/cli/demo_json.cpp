// The JSON document of the demo.
#include <nlohmann/json.hpp>

#include "cli/demo_report.h"
#include "cli/json.h"

namespace ringside::cli {
namespace {

using nlohmann::ordered_json;

ordered_json run_json(const DemoRun& run) {
  ordered_json json{{"name", run.name},
                    {"strategy", run.report.scenario.strategy},
                    {"devices", run.report.scenario.devices},
                    {"batch_size", run.report.scenario.batch_size},
                    {"checksum", run.report.checksum},
                    {"seconds", run.report.seconds}};
  json["losses"] = ordered_json::array();
  json["test_accuracies"] = ordered_json::array();
  for (const EpochReport& epoch : run.report.epochs) {
    json["losses"].push_back(epoch.loss);
    json["test_accuracies"].push_back(epoch.test_accuracy);
  }
  json["step"] = ordered_json::array();
  for (const TransferRow& row : transfers(run.trace, kDemoStep)) {
    json["step"].push_back({{"phase", to_string(row.phase)},
                            {"primitive", row.primitive},
                            {"from", row.from},
                            {"to", row.to},
                            {"messages", row.messages},
                            {"bytes", row.bytes}});
  }
  return json;
}

}  // namespace

std::string demo_document(const std::vector<DemoRun>& runs, const DemoVerdict& verdict,
                          const std::vector<std::string>& files) {
  ordered_json document = make_document("demo");
  document["passed"] = verdict.failures.empty();
  document["failures"] = verdict.failures;
  document["largest_relative_difference"] = verdict.largest_difference;
  document["test_accuracy"] = verdict.lowest_accuracy;
  document["buckets"] = verdict.buckets;
  document["shown_step"] = kDemoStep;
  document["runs"] = ordered_json::array();
  for (const DemoRun& run : runs) document["runs"].push_back(run_json(run));
  document["files"] = files;
  return to_text(document);
}

}  // namespace ringside::cli
