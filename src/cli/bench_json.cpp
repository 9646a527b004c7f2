// The JSON document of a benchmark.
#include <nlohmann/json.hpp>

#include "cli/bench_report.h"
#include "cli/json.h"

namespace ringside::cli {
namespace {

using nlohmann::ordered_json;

ordered_json measurement_json(const std::optional<benchmark::Measurement>& measurement) {
  if (!measurement) return nullptr;
  ordered_json json;
  json["seconds"] = measurement->seconds;
  json["mean_seconds"] = measurement->mean_seconds;
  json["algorithm_bandwidth"] = measurement->algorithm_bandwidth;
  json["bus_bandwidth"] = measurement->bus_bandwidth;
  json["wrong"] = measurement->wrong ? ordered_json(*measurement->wrong) : ordered_json(nullptr);
  return json;
}

ordered_json request_json(const BenchRun& run) {
  const benchmark::Request& request = run.request;
  ordered_json json;
  json["operation"] = bench_name(request.operation);
  json["backend"] = run.backend;
  json["ranks"] = run.ranks;
  json["dtype"] = to_string(request.dtype);
  if (combines(request.operation)) json["op"] = to_string(request.op);
  if (has_root(request.operation)) json["root"] = request.root;
  json["algorithm"] = to_string(request.algorithm.algorithm);
  json["direction"] = to_string(request.algorithm.direction);
  json["border"] = to_string(request.algorithm.border);
  json["pieces"] = request.algorithm.pieces;
  json["node_size"] = request.algorithm.node_size;
  json["begin"] = run.range.begin;
  json["end"] = run.range.end;
  json["factor"] = run.range.step == 0 ? ordered_json(run.range.factor) : ordered_json(nullptr);
  json["step"] = run.range.step == 0 ? ordered_json(nullptr) : ordered_json(run.range.step);
  json["iterations"] = request.iterations;
  json["warmup"] = request.warmup;
  json["check"] = request.check;
  json["in_place"] = request.in_place;
  return json;
}

}  // namespace

std::string bench_document(const BenchRun& run, const std::vector<benchmark::Row>& rows) {
  ordered_json document = make_document("bench");
  document["request"] = request_json(run);
  document["bus_factor"] = benchmark::bus_factor(run.request.operation, run.ranks);
  document["rows"] = ordered_json::array();
  for (const benchmark::Row& row : rows) {
    document["rows"].push_back({{"size", row.extent.bytes},
                                {"count", row.extent.count},
                                {"out_of_place", measurement_json(row.out_of_place)},
                                {"in_place", measurement_json(row.in_place)}});
  }
  document["average_bus_bandwidth"] = average_bus_bandwidth(rows);
  document["wrong"] = total_wrong(rows);
  return to_text(document);
}

}  // namespace ringside::cli
