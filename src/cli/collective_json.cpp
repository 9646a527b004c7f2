// The JSON document of a collective's run.
#include <nlohmann/json.hpp>

#include "cli/collective_report.h"
#include "cli/json.h"

namespace ringside::cli {
namespace {

using nlohmann::ordered_json;

// Beyond that the messages are left out; they follow from the request.
constexpr std::size_t kMaxListedMessages = 10'000;
constexpr std::size_t kMaxListedRanks = 64;

ordered_json request_json(const CollectiveRun& run) {
  const ScheduleRequest& request = run.schedule.request;
  ordered_json json;
  json["operation"] = to_string(request.operation);
  json["algorithm"] = to_string(request.algorithm);
  json["ranks"] = request.ranks;
  json["count"] = request.count;
  if (!request.counts.empty()) json["counts"] = request.counts;
  json["dtype"] = to_string(request.dtype);
  if (combines(request.operation)) json["op"] = to_string(run.op);
  if (has_root(request.operation)) json["root"] = request.root;
  if (request.operation == Operation::kSend) {
    json["root"] = request.root;
    json["peer"] = request.peer;
  }
  json["direction"] = to_string(request.direction);
  json["border"] = to_string(request.border);
  json["pieces"] = request.pieces;
  json["node_size"] = request.node_size;
  json["elements"] = run.schedule.elements;
  return json;
}

ordered_json holding_json(const Holding& holding) {
  if (holding.values.empty()) return {{"held", holding.held}, {"norm", holding.norm}};
  ordered_json values = ordered_json::array();
  for (const std::optional<double>& value : holding.values) {
    values.push_back(value ? ordered_json(*value) : ordered_json(nullptr));
  }
  return values;
}

ordered_json stages_json(const CollectiveRun& run) {
  ordered_json stages = ordered_json::array();
  for (const StageRecord& stage : run.stages) {
    ordered_json ranks = ordered_json::array();
    for (const Holding& holding : stage.ranks) ranks.push_back(holding_json(holding));
    stages.push_back({{"after", stage.label}, {"ranks", std::move(ranks)}});
  }
  return stages;
}

ordered_json rounds_json(const Schedule& schedule) {
  const std::size_t size = size_of(schedule.request.dtype);
  ordered_json rounds = ordered_json::array();
  for (const Round& round : schedule.rounds) {
    ordered_json messages = ordered_json::array();
    for (const Message& message : round) {
      messages.push_back({{"from", message.source},
                          {"to", message.destination},
                          {"begin", message.range.begin},
                          {"end", message.range.end},
                          {"bytes", message.range.size() * size},
                          {"action", message.action == Action::kCombine ? "combine" : "copy"}});
    }
    rounds.push_back(std::move(messages));
  }
  return rounds;
}

ordered_json cost_json(const CollectiveRun& run) {
  const std::size_t size = size_of(run.schedule.request.dtype);
  return {{"rounds", run.cost.rounds},
          {"messages", run.cost.messages},
          {"bytes", run.cost.elements * size},
          {"max_bytes_sent_by_rank", run.cost.max_sent_by_rank * size},
          {"max_bytes_received_by_rank", run.cost.max_received_by_rank * size}};
}

}  // namespace

std::string collective_document(const CollectiveRun& run,
                                const std::vector<std::string>& pictures) {
  ordered_json document = make_document("collective");
  document["request"] = request_json(run);
  document["cost"] = cost_json(run);
  document["closed_form"] = nullptr;
  if (run.closed) {
    document["closed_form"] = {{"rounds_formula", run.closed->rounds_formula},
                               {"rounds", run.closed->rounds},
                               {"bytes_formula", run.closed->bytes_formula},
                               {"bytes", run.closed->bytes}};
  }
  document["executed"] = run.executed;
  const bool detailed = run.cost.messages <= kMaxListedMessages &&
                        static_cast<std::size_t>(run.schedule.request.ranks) <= kMaxListedRanks;
  document["values"] = detailed ? stages_json(run) : ordered_json::array();
  document["rounds"] = detailed ? rounds_json(run.schedule) : ordered_json::array();
  document["pictures"] = pictures;
  return to_text(document);
}

}  // namespace ringside::cli
