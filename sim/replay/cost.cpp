#include "sim/replay/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ringside/error.h"
#include "trace/copy_route.h"

namespace ringside {
namespace {

void require(bool good, std::string_view name, double value, std::string_view must) {
  if (good) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("rate {} is {}: must be {}", name, value, must));
}

void require_rate(std::string_view name, double value) {
  require(std::isfinite(value) && value > 0, name, value, "a positive number");
}

void require_time(std::string_view name, double value) {
  require(std::isfinite(value) && value >= 0, name, value, "a number of seconds from 0");
}

std::size_t bytes_of(const std::vector<TraceTensor>& tensors) {
  std::size_t bytes = 0;
  for (const TraceTensor& tensor : tensors) {
    bytes += static_cast<std::size_t>(tensor.shape.numel()) * size_of(tensor.dtype);
  }
  return bytes;
}

}  // namespace

CostModel::CostModel(const Trace& trace, const Rates& rates)
    : rates_(rates),
      sent_(static_cast<std::size_t>(trace.run.devices)),
      received_(static_cast<std::size_t>(trace.run.devices)) {
  require_rate("flops_per_second", rates.flops_per_second);
  require_rate("memory_bytes_per_second", rates.memory_bytes_per_second);
  require_rate("copy_bytes_per_second", rates.copy_bytes_per_second);
  require_rate("link_bytes_per_second", rates.link_bytes_per_second);
  require_time("compute_overhead", rates.compute_overhead);
  require_time("copy_latency", rates.copy_latency);
  require_time("link_latency", rates.link_latency);
  require_time("host_op", rates.host_op);
  for (const double slowdown : rates.rank_slowdown) require_rate("rank_slowdown", slowdown);
}

double CostModel::seconds(const TraceOp& op) {
  switch (op.kind) {
    case OpKind::kCompute:
      return compute(op);
    case OpKind::kCopy:
      return copy(op);
    case OpKind::kCollective:
    case OpKind::kSend:
    case OpKind::kRecv:
      return collective(*op.collective);
    case OpKind::kHost:
      return rates_.host_op;
    case OpKind::kWait:
      break;
  }
  return 0;
}

// The roofline: an op is bound by its arithmetic or by the memory it touches.
double CostModel::compute(const TraceOp& op) const {
  const auto bytes = static_cast<double>(bytes_of(op.reads) + bytes_of(op.writes));
  const auto rank = static_cast<std::size_t>(op.rank);
  const double slowdown = rank < rates_.rank_slowdown.size() ? rates_.rank_slowdown[rank] : 1;
  return slowdown * (rates_.compute_overhead + std::max(op.flops / rates_.flops_per_second,
                                                        bytes / rates_.memory_bytes_per_second));
}

double CostModel::copy(const TraceOp& op) const {
  const auto bytes = static_cast<double>(op.bytes);
  if (is_between_devices(op)) return rates_.link_latency + bytes / rates_.link_bytes_per_second;
  if (route_of(op) == CopyRoute::kOnDevice) {  // every byte is read and written
    return rates_.compute_overhead + 2 * bytes / rates_.memory_bytes_per_second;
  }
  return rates_.copy_latency + bytes / rates_.copy_bytes_per_second;
}

double CostModel::collective(const TraceCollective& collective) {
  const std::size_t element = size_of(collective.request.dtype);
  double seconds = 0;
  for (const Round& round : expand(collective).rounds) {
    if (round.empty()) continue;
    seconds += rates_.link_latency +
               static_cast<double>(busiest_port(round, element)) / rates_.link_bytes_per_second;
  }
  return seconds;
}

std::size_t CostModel::busiest_port(const Round& round, std::size_t element) {
  std::size_t busiest = 0;
  for (const Message& message : round) {
    std::size_t& sent = sent_[static_cast<std::size_t>(message.source)];
    std::size_t& received = received_[static_cast<std::size_t>(message.destination)];
    sent += message.range.size() * element;
    received += message.range.size() * element;
    busiest = std::max({busiest, sent, received});
  }
  for (const Message& message : round) {
    sent_[static_cast<std::size_t>(message.source)] = 0;
    received_[static_cast<std::size_t>(message.destination)] = 0;
  }
  return busiest;
}

}  // namespace ringside
