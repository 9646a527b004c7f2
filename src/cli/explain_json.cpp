// The JSON document of collective --explain (docs/json.md).
#include <nlohmann/json.hpp>

#include "cli/explain.h"
#include "cli/json.h"

namespace ringside::cli {
namespace {

using nlohmann::ordered_json;

ordered_json algorithm_json(const AlgorithmCost& cost) {
  ordered_json json;
  json["algorithm"] = to_string(cost.algorithm);
  json["rounds"] = cost.rounds;
  json["messages"] = cost.messages;
  json["max_bytes_sent_by_rank"] = cost.sent;
  json["max_bytes_received_by_rank"] = cost.received;
  json["busiest_link"] = nullptr;
  if (cost.messages > 0) {
    json["busiest_link"] = {{"from", cost.link.source},
                            {"to", cost.link.destination},
                            {"bytes", cost.link.bytes},
                            {"messages", cost.link.messages}};
  }
  json["seconds"] = cost.seconds;
  json["why_rounds"] = cost.why_rounds;
  json["why_bytes"] = cost.why_bytes;
  return json;
}

}  // namespace

std::string explanation_document(const Explanation& explanation) {
  ordered_json document = make_document("explanation");
  document["operation"] = to_string(explanation.request.operation);
  document["ranks"] = explanation.request.ranks;
  document["bytes"] = explanation.bytes;
  document["alpha"] = explanation.model.alpha;
  document["beta"] = explanation.model.beta;
  document["algorithms"] = ordered_json::array();
  for (const AlgorithmCost& cost : explanation.algorithms) {
    document["algorithms"].push_back(algorithm_json(cost));
  }
  document["lower_bound"] = {{"rounds", explanation.bound.rounds},
                             {"bytes", explanation.bound.bytes},
                             {"seconds", explanation.bound.seconds}};
  document["conclusions"] = explanation.conclusions;
  return to_text(document);
}

}  // namespace ringside::cli
