#include "views/parameter_server_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "views/step_diagram.h"
#include "views/text.h"

namespace ringside {
namespace {

using Other = ParameterServerPush::Other;

// A trace without these facts: what most runs have.
TraceRun::ParameterServer fallback(const Trace& trace) {
  TraceRun::ParameterServer ps;
  ps.workers = std::max(trace.run.devices - 1, 1);
  return ps;
}

// The other rank of a send or receive.
std::optional<int> partner(const TraceOp& op) {
  if (!op.collective) return std::nullopt;
  const PhaseFacts one = gather_facts({&op});
  if (one.sent.size() != 1) return std::nullopt;
  const auto [source, destination] = one.sent.begin()->first;
  return source == op.rank ? destination : source;
}

// Of "worker 2, 7 updates old".
std::optional<int> age_of(std::string_view label) {
  const std::size_t comma = label.find(", ");
  if (comma == std::string_view::npos) return std::nullopt;
  const std::string_view number = label.substr(comma + 2);
  int age = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), age);
  if (error != std::errc() || end == number.data()) return std::nullopt;
  return age;
}

}  // namespace

ParameterServerFacts::ParameterServerFacts(const Trace& trace, int step)
    : trace_(&trace), step_(step), ps_(trace.run.parameter_server.value_or(fallback(trace))) {}

bool ParameterServerFacts::is_lead(int rank) const {
  return is_worker(rank) ? rank % ps_.worker_devices == 0
                         : (rank - replicas()) % ps_.server_devices == 0;
}

int ParameterServerFacts::number(int rank) const {
  return is_worker(rank) ? rank / ps_.worker_devices : (rank - replicas()) / ps_.server_devices;
}

std::string ParameterServerFacts::name(int rank) const {
  const bool worker = is_worker(rank);
  std::string text = fmt::format("{} {}", worker ? "worker" : "server", number(rank));
  const int devices = worker ? ps_.worker_devices : ps_.server_devices;
  if (devices == 1) return text;
  const int device = (worker ? rank : rank - replicas()) % devices;
  return fmt::format("{}, device {}", text, device);
}

PhaseFacts ParameterServerFacts::facts(Phase phase, Side side) const {
  return gather_facts(select_ops(*trace_, step_, [&](const TraceOp& op) {
    return op.phase == phase &&
           (side == Side::kAll || (side == Side::kWorkers) == is_worker(op.rank));
  }));
}

bool ParameterServerFacts::is_recorded(int rank) const {
  return std::any_of(trace_->ops.begin(), trace_->ops.end(),
                     [&](const TraceOp& op) { return op.rank == rank; });
}

bool ParameterServerFacts::takes_part(int rank) const {
  return std::any_of(trace_->ops.begin(), trace_->ops.end(),
                     [&](const TraceOp& op) { return op.rank == rank && op.step == step_; });
}

std::size_t ParameterServerFacts::shard_bytes(int rank) const {
  const int lead = server_lead(number(rank));
  std::size_t most = 0;
  for (const Phase phase : {Phase::kPush, Phase::kPull}) {
    for (const auto& [pair, sent] : facts(phase).sent) {
      const int server = is_worker(pair.first) ? pair.second : pair.first;
      if (server_lead(number(server)) == lead) most = std::max(most, sent.bytes);
    }
  }
  return most;
}

std::vector<ParameterServerPush> ParameterServerFacts::pushes() const {
  std::vector<ParameterServerPush> pushes;
  std::vector<Other> now(static_cast<std::size_t>(ps_.workers), Other::kHasNotPulled);
  for (const TraceOp& op : trace_->ops) {
    if (op.step != step_ || op.rank != server_lead(0)) continue;
    if (op.phase == Phase::kAggregate && !pushes.empty() && !pushes.back().is_applied) {
      pushes.back().is_applied = true;
      pushes.back().age = age_of(op.label);
    }
    const std::optional<int> with = partner(op);
    if (!with || !is_worker(*with)) continue;
    const int worker = number(*with);
    Other& state = now[static_cast<std::size_t>(worker)];
    if (op.phase == Phase::kPull) state = Other::kComputes;
    if (op.phase != Phase::kPush) continue;
    state = Other::kHasPushed;
    pushes.push_back({worker, now});
  }
  return pushes;
}

std::string ParameterServerFacts::run_text() const {
  return ringside::run_text(*trace_,
                            ps_.worker_devices == 1
                                ? "rows per worker:"
                                : fmt::format("rows per worker: {} devices ×", ps_.worker_devices));
}

std::string ParameterServerFacts::devices_text() const {
  return fmt::format("{} and {}", workers_text(),
                     counted(static_cast<std::size_t>(ps_.servers), "server"));
}

std::string ParameterServerFacts::workers_text() const {
  return counted(static_cast<std::size_t>(ps_.workers), "worker");
}

std::string ParameterServerFacts::servers_text() const {
  return ps_.servers == 1 ? "the server" : fmt::format("{} servers", ps_.servers);
}

std::string ParameterServerFacts::gradients_of(int worker) const {
  const int lead = worker * ps_.worker_devices;
  std::string text = "dW" + subscript(lead);
  if (ps_.worker_devices == 2) text += " + dW" + subscript(lead + 1);
  if (ps_.worker_devices > 2) text += " + … + dW" + subscript(lead + ps_.worker_devices - 1);
  return text;
}

FlowBox ParameterServerFacts::push_box(int rank) const {
  return box(BoxClass::kComm,
             ps_.worker_devices == 1 ? "sends " + gradients_of(number(rank)) : "sends the sum",
             fmt::format("push: {} sends {}", name(rank), gradients_of(number(rank))));
}

std::string ParameterServerFacts::shard_of(std::string_view tensor) const {
  return ps_.servers == 1 ? std::string(tensor) : fmt::format("1/{} of {}", ps_.servers, tensor);
}

}  // namespace ringside
