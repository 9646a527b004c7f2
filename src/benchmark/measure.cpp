#include "benchmark/measure.h"

#include <fmt/format.h>

#include "benchmark/pattern.h"
#include "benchmark/rank_benchmark.h"
#include "ringside/error.h"
#include "schedule/request.h"

namespace ringside::benchmark {
namespace {

void check_request(const World& world, const Request& request) {
  ScheduleRequest schedule;
  schedule.operation = request.operation;
  schedule.algorithm = request.algorithm.algorithm;
  schedule.ranks = world.size();
  schedule.root = has_root(request.operation) ? request.root : 0;
  schedule.pieces = request.algorithm.pieces;
  schedule.node_size = request.algorithm.node_size;
  const std::string fault = schedule::fault_in(schedule);
  if (!fault.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {}", to_string(request.operation), fault));
  }
  if (is_pair(request.operation) && world.size() == 1) {
    throw Error(ErrorKind::kInvalidArgument, "sendrecv needs two ranks, and there is 1",
                "raise --ranks, or start more processes");
  }
}

template <typename Visitor>
void for_each_measurement(const std::vector<Row>& rows, Visitor visit) {
  for (const Row& row : rows) {
    visit(row.out_of_place);
    if (row.in_place) visit(*row.in_place);
  }
}

}  // namespace

bool can_be_in_place(Operation operation) {
  return operation != Operation::kAllToAll && !is_pair(operation);
}

std::vector<Row> measure(World& world, const Request& request, const Observer& observer) {
  check_request(world, request);
  const Pattern pattern(request.operation, request.dtype, request.op, request.root, world.size());
  const bool in_place = request.in_place && can_be_in_place(request.operation);
  std::vector<Row> rows;
  world.run([&](Rank& rank) {
    RankBenchmark benchmark(rank, request, pattern);
    const bool speaks = rank.rank == 0;
    const bool keeps = rank.rank == world.local_ranks().front();
    for (std::size_t i = 0; i < request.sizes.size(); ++i) {
      const Extent extent =
          extent_of(request.operation, request.dtype, world.size(), request.sizes[i]);
      if (speaks && observer.progress) observer.progress(i, extent);
      Row row{extent, benchmark.measure(extent, false), {}};
      if (in_place) row.in_place = benchmark.measure(extent, true);
      if (speaks && observer.row) observer.row(row);
      if (keeps) rows.push_back(row);
    }
  });
  return rows;
}

double average_bus_bandwidth(const std::vector<Row>& rows) {
  double sum = 0;
  std::size_t number = 0;
  for_each_measurement(rows, [&](const Measurement& measurement) {
    sum += measurement.bus_bandwidth;
    ++number;
  });
  return number == 0 ? 0 : sum / static_cast<double>(number);
}

std::size_t total_wrong(const std::vector<Row>& rows) {
  std::size_t wrong = 0;
  for_each_measurement(
      rows, [&](const Measurement& measurement) { wrong += measurement.wrong.value_or(0); });
  return wrong;
}

}  // namespace ringside::benchmark
