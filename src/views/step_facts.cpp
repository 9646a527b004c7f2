#include "views/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "ringside/error.h"
#include "trace/collective_key.h"
#include "trace/copy_route.h"

namespace ringside {
namespace {

bool moves_data(OpKind kind) {
  return kind == OpKind::kCopy || kind == OpKind::kCollective || kind == OpKind::kRecv;
}

void add_messages(PhaseFacts& facts, const TraceCollective& collective) {
  const std::size_t element = size_of(collective.request.dtype);
  for (const Round& round : expand(collective).rounds) {
    for (const Message& message : round) {
      if (message.source == message.destination) continue;
      Sent& sent = facts.sent[{message.source, message.destination}];
      sent.messages += 1;
      sent.bytes += message.range.size() * element;
    }
  }
}

}  // namespace

std::size_t PhaseFacts::messages() const {
  std::size_t total = 0;
  for (const auto& [pair, amount] : sent) total += amount.messages;
  return total;
}

std::size_t PhaseFacts::bytes() const {
  std::size_t total = 0;
  for (const auto& [pair, amount] : sent) total += amount.bytes;
  return total;
}

std::size_t PhaseFacts::sent_by(int rank) const {
  std::size_t total = 0;
  for (const auto& [pair, amount] : sent) total += pair.first == rank ? amount.bytes : 0;
  return total;
}

std::size_t PhaseFacts::received_by(int rank) const {
  std::size_t total = 0;
  for (const auto& [pair, amount] : sent) total += pair.second == rank ? amount.bytes : 0;
  return total;
}

bool PhaseFacts::is_active(int rank) const {
  const bool works = std::any_of(ops.begin(), ops.end(), [rank](const TraceOp* op) {
    return op->rank == rank && op->kind != OpKind::kWait && op->kind != OpKind::kHost;
  });
  return works || sent_by(rank) > 0 || received_by(rank) > 0;
}

const TraceCollective* PhaseFacts::rooted() const {
  for (const TraceOp* op : collectives) {
    if (has_root(op->collective->request.operation)) return &*op->collective;
  }
  return nullptr;
}

std::optional<int> PhaseFacts::root() const {
  const TraceCollective* collective = rooted();
  if (collective == nullptr) return std::nullopt;
  return collective->world_ranks[static_cast<std::size_t>(collective->request.root)];
}

PhaseFacts gather_facts(std::vector<const TraceOp*> ops) {
  PhaseFacts facts;
  std::set<CollectiveKey> seen;
  for (const TraceOp* op : ops) {
    if (op->collective) {
      if (!seen.insert(key_of(*op->collective)).second) continue;
      facts.collectives.push_back(op);
      add_messages(facts, *op->collective);
    } else if (is_between_devices(*op)) {
      const bool brings = route_of(*op) == CopyRoute::kFromDevice;
      Sent& sent =
          facts.sent[brings ? std::pair(op->peer, op->rank) : std::pair(op->rank, op->peer)];
      sent.messages += 1;
      sent.bytes += op->bytes;
    }
  }
  facts.ops = std::move(ops);
  return facts;
}

PhaseFacts facts_of_phase(const Trace& trace, int step, Phase phase) {
  return gather_facts(
      select_ops(trace, step, [phase](const TraceOp& op) { return op.phase == phase; }));
}

void require_step(const Trace& trace, int step) {
  const std::vector<int> steps = trace.steps();
  if (std::find(steps.begin(), steps.end(), step) != steps.end()) return;
  throw Error(ErrorKind::kInvalidArgument,
              steps.empty() ? fmt::format("step {}: the trace has no steps", step)
                            : fmt::format("step {}: the trace has step{} {}", step,
                                          steps.size() == 1 ? "" : "s", fmt::join(steps, ", ")),
              "record other steps with --trace-steps FIRST-LAST");
}

std::string shape_text(const Shape& shape) {
  return shape.rank() == 0 ? "scalar" : fmt::format("{}", fmt::join(shape.sizes(), "×"));
}

const TraceTensor* first_read(const PhaseFacts& facts, int rank) {
  for (const TraceOp* op : facts.ops) {
    if (op->rank == rank && op->kind == OpKind::kCompute && !op->reads.empty()) {
      return &op->reads.front();
    }
  }
  return nullptr;
}

const TraceTensor* largest_arrival(const PhaseFacts& facts, int rank) {
  const TraceTensor* largest = nullptr;
  for (const TraceOp* op : facts.ops) {
    if (op->rank != rank || !moves_data(op->kind)) continue;
    for (const TraceTensor& tensor : op->writes) {
      if (largest == nullptr || tensor.shape.numel() > largest->shape.numel()) largest = &tensor;
    }
  }
  return largest;
}

std::optional<double> scalar_result(const PhaseFacts& facts, int rank) {
  std::optional<double> value;
  for (const TraceOp* op : facts.ops) {
    if (op->rank != rank) continue;
    for (const TraceTensor& tensor : op->writes) {
      if (tensor.values.size() == 1) value = tensor.values.front();
    }
  }
  return value;
}

}  // namespace ringside
