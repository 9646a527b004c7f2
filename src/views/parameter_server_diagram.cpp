// The parameter server's step: workers compute gradients on their own rows and push them, servers
// add them up; weights (variant b) or gradients (variant a) are pulled.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "views/step_diagram.h"
#include "views/text.h"

namespace ringside {
namespace {

enum class Side : std::uint8_t { kAll, kWorkers, kServers };

class ParameterServerDiagram {
 public:
  ParameterServerDiagram(const Trace& trace, int step)
      : trace_(trace), step_(step), ps_(trace.run.parameter_server.value_or(fallback(trace))) {}

  FlowDiagram make();

 private:
  // A trace without these facts: what most runs have.
  static TraceRun::ParameterServer fallback(const Trace& trace) {
    TraceRun::ParameterServer ps;
    ps.workers = std::max(trace.run.devices - 1, 1);
    return ps;
  }

  int replicas() const { return ps_.workers * ps_.worker_devices; }
  bool is_worker(int rank) const { return rank < replicas(); }
  bool is_lead(int rank) const {
    return is_worker(rank) ? rank % ps_.worker_devices == 0
                           : (rank - replicas()) % ps_.server_devices == 0;
  }
  int number(int rank) const {
    return is_worker(rank) ? rank / ps_.worker_devices : (rank - replicas()) / ps_.server_devices;
  }
  std::string name(int rank) const;
  std::string part(std::string_view tensor, int rank) const {
    return fmt::format("{}{}", tensor, subscript(rank));
  }
  std::string gradients_of(int worker) const;
  std::string workers_text() const {
    return counted(static_cast<std::size_t>(ps_.workers), "worker");
  }
  std::string servers_text() const {
    return ps_.servers == 1 ? "the server" : fmt::format("{} servers", ps_.servers);
  }
  std::string busiest_text() const {
    if (ps_.servers * ps_.server_devices == 1) return "the server";
    return ps_.server_devices == 1 ? "each server" : "the busiest device of a server";
  }
  /// "3 workers compute", "1 worker computes".
  std::string workers_do(std::string_view verb, std::string_view ending) const {
    return fmt::format("{} {}{}", workers_text(), verb, ps_.workers == 1 ? ending : "");
  }
  std::string_view their() const { return ps_.workers == 1 ? "its" : "their"; }
  /// Of a server: its share of the parameters.
  std::string shard_text() const {
    return ps_.servers == 1 ? "" : fmt::format("\n1/{} of it", ps_.servers);
  }
  bool is_recorded(int rank) const {
    return std::any_of(trace_.ops.begin(), trace_.ops.end(),
                       [&](const TraceOp& op) { return op.rank == rank; });
  }

  PhaseFacts facts(Phase phase, Side side = Side::kAll) const;
  template <typename Cell>
  void add(FlowDiagram& diagram, Phase phase, Side side, std::string remark, std::string caption,
           const Cell& cell) const;
  void add_load(FlowDiagram& diagram) const;
  void add_pull(FlowDiagram& diagram) const;
  void add_compute(FlowDiagram& diagram) const;
  void add_push(FlowDiagram& diagram) const;
  void add_aggregate(FlowDiagram& diagram) const;
  void add_update(FlowDiagram& diagram) const;
  std::string ages() const;
  std::string caption() const;

  const Trace& trace_;
  int step_;
  TraceRun::ParameterServer ps_;
};

std::string ParameterServerDiagram::name(int rank) const {
  const bool worker = is_worker(rank);
  std::string text = fmt::format("{} {}", worker ? "worker" : "server", number(rank));
  const int devices = worker ? ps_.worker_devices : ps_.server_devices;
  if (devices == 1) return text;
  const int device = (worker ? rank : rank - replicas()) % devices;
  return fmt::format("{}, device {}", text, device);
}

/// "dW₀", or of a worker of two devices "dW₀ + dW₁".
std::string ParameterServerDiagram::gradients_of(int worker) const {
  const int lead = worker * ps_.worker_devices;
  std::string text = part("dW", lead);
  if (ps_.worker_devices == 2) text += " + " + part("dW", lead + 1);
  if (ps_.worker_devices > 2) text += " + … + " + part("dW", lead + ps_.worker_devices - 1);
  return text;
}

PhaseFacts ParameterServerDiagram::facts(Phase phase, Side side) const {
  return gather_facts(select_ops(trace_, step_, [&](const TraceOp& op) {
    return op.phase == phase &&
           (side == Side::kAll || (side == Side::kWorkers) == is_worker(op.rank));
  }));
}

/// A row, if the step has the phase. `cell(rank, facts)` for the ranks that do something in it,
/// idle for the others.
template <typename Cell>
void ParameterServerDiagram::add(FlowDiagram& diagram, Phase phase, Side side, std::string remark,
                                 std::string caption, const Cell& cell) const {
  const PhaseFacts facts = this->facts(phase, side);
  if (facts.ops.empty()) return;
  FlowRow row;
  row.phase = to_string(phase);
  row.title = row.phase;
  row.name = side == Side::kServers ? fmt::format("{}-servers", row.phase) : row.phase;
  row.ports = ports_of(facts, trace_.run.devices, row.title, "rank");
  row.remark_is_bytes = row.has_transfer();
  row.remark = row.has_transfer() ? transfer_remark(facts) : std::move(remark);
  row.caption = may_be_cut_off(trace_, step_) ? cut_off_caption(facts, trace_.run.devices, "rank")
                                              : std::move(caption);
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    const std::optional<FlowBox> box =
        facts.is_active(rank) && is_recorded(rank) ? cell(rank, facts) : std::optional<FlowBox>();
    row.boxes.push_back(
        box.value_or(idle_box(name(rank), is_recorded(rank) ? "idle" : "not recorded")));
  }
  diagram.rows.push_back(std::move(row));
}

void ParameterServerDiagram::add_load(FlowDiagram& diagram) const {
  const PhaseFacts load = facts(Phase::kLoad);
  FlowRow row;
  row.phase = row.name = row.title = to_string(Phase::kLoad);
  row.remark = ps_.server_updates ? "own rows; W on servers" : "own rows, full replica";
  row.caption = ps_.server_updates
                    ? fmt::format("Every worker loads its own rows; the weights, {}, are on {}.",
                                  format_bytes(trace_.run.parameter_bytes), servers_text())
                    : fmt::format("Every worker loads its own rows and has the whole model, {}.",
                                  format_bytes(trace_.run.parameter_bytes));
  const std::string weights = fmt::format("W\u00A0 {}", format_bytes(trace_.run.parameter_bytes));
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    const std::string tooltip = "load: on " + name(rank);
    if (is_worker(rank)) {
      const std::string rows = tensor_text(part("x", rank), largest_arrival(load, rank));
      row.boxes.push_back(box(BoxClass::kData,
                              ps_.server_updates ? rows : fmt::format("{}\n{}", rows, weights),
                              tooltip));
    } else if (ps_.server_updates) {
      row.boxes.push_back(box(BoxClass::kData, weights + shard_text(), tooltip));
    } else {
      row.boxes.push_back(idle_box(name(rank)));
    }
  }
  diagram.rows.push_back(std::move(row));
}

void ParameterServerDiagram::add_pull(FlowDiagram& diagram) const {
  const std::string_view what = ps_.server_updates ? "W" : "dW";
  const std::string_view word = ps_.server_updates ? "weights" : "gradients";
  add(diagram, Phase::kPull, Side::kAll, "",
      fmt::format("Every worker pulls the {} from {}{}: {} in all.", word, servers_text(),
                  ps_.asynchronous ? ", as they are when it may begin" : "",
                  format_bytes(facts(Phase::kPull).bytes())),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        const std::string tooltip = fmt::format("pull: on {}", name(rank));
        if (is_worker(rank)) {
          return box(BoxClass::kComm, fmt::format("{} (copy)", what), tooltip);
        }
        return box(BoxClass::kData, fmt::format("{}{}", what, shard_text()), tooltip);
      });
  const PhaseFacts replicate = facts(Phase::kReplicate, Side::kWorkers);
  if (replicate.sent.empty()) return;
  add(diagram, Phase::kReplicate, Side::kWorkers, "",
      fmt::format("The first device of each worker hands the {} on to its others: {} in all.", word,
                  format_bytes(replicate.bytes())),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        return box(is_lead(rank) ? BoxClass::kData : BoxClass::kComm,
                   fmt::format("{} (copy)", what), fmt::format("replicate: on {}", name(rank)));
      });
}

void ParameterServerDiagram::add_compute(FlowDiagram& diagram) const {
  add(diagram, Phase::kForward, Side::kAll, "nothing is sent",
      fmt::format("{} on {} own rows; {} {} idle.", as_sentence(workers_do("compute", "s")),
                  their(), servers_text(), ps_.servers == 1 ? "is" : "are"),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        return box(BoxClass::kCompute, fmt::format("{} = f({})", part("y", rank), part("x", rank)),
                   fmt::format("forward: on {}", name(rank)));
      });
  add(diagram, Phase::kLoss, Side::kAll, "mean over the worker's rows",
      "Every worker has the loss of its own rows.",
      [&](int rank, const PhaseFacts& loss) -> std::optional<FlowBox> {
        const std::optional<double> value = scalar_result(loss, rank);
        return box(
            BoxClass::kLoss,
            fmt::format("{} = {}", part("L", rank),
                        value ? fixed(*value, 3) : fmt::format("loss({}, T)", part("y", rank))),
            fmt::format("loss: on {}", name(rank)));
      });
  add(diagram, Phase::kBackward, Side::kAll, "nothing is sent yet",
      "Every worker has the gradients of its own rows; it pushes them when it has all.",
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        return box(BoxClass::kCompute, part("dW", rank),
                   fmt::format("backward: on {}", name(rank)));
      });
  add(diagram, Phase::kReduceGrad, Side::kWorkers, "",
      fmt::format(
          "Each worker adds up the gradients of its {} devices on the first one: {} in all.",
          ps_.worker_devices, format_bytes(facts(Phase::kReduceGrad).bytes())),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        if (!is_lead(rank)) return std::nullopt;
        return box(BoxClass::kComm, gradients_of(number(rank)),
                   fmt::format("reduce-grad: on {}", name(rank)));
      });
}

void ParameterServerDiagram::add_push(FlowDiagram& diagram) const {
  const PhaseFacts push = facts(Phase::kPush);
  std::size_t most = 0;
  for (int rank = replicas(); rank < trace_.run.devices; ++rank) {
    most = std::max(most, push.received_by(rank));
  }
  add(diagram, Phase::kPush, Side::kAll, "",
      fmt::format("{} {} gradients: {} into {}, {} in all.", as_sentence(workers_do("push", "es")),
                  their(), format_bytes(most), busiest_text(), format_bytes(push.bytes())),
      [&](int rank, const PhaseFacts& facts) -> std::optional<FlowBox> {
        if (is_worker(rank)) return std::nullopt;
        std::size_t pushes = 0;
        for (const auto& [pair, sent] : facts.sent) pushes += pair.second == rank ? 1 : 0;
        return box(BoxClass::kComm, counted(pushes, "gradient"),
                   fmt::format("push: on {}", name(rank)));
      });
}

void ParameterServerDiagram::add_aggregate(FlowDiagram& diagram) const {
  const std::string sum = ps_.mean ? fmt::format("Σ dWᵢ / {}", replicas()) : "Σ dWᵢ";
  const std::string_view division = ps_.mean ? "averaged" : "summed, not averaged";
  add(diagram, Phase::kAggregate, Side::kAll,
      ps_.asynchronous ? "each by itself"
      : ps_.mean       ? "mean"
                       : "sum",
      ps_.asynchronous ? fmt::format("Each push is applied by itself, as it comes: {}.", ages())
                       : fmt::format("The gradients are {} on {}.", division, servers_text()),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        const std::string tooltip = fmt::format("aggregate: on {}", name(rank));
        if (ps_.asynchronous) {
          return box(BoxClass::kCompute, ps_.mean ? fmt::format("dWᵢ / {}", replicas()) : "dWᵢ",
                     tooltip);
        }
        if (!is_lead(rank)) return box(BoxClass::kCompute, "part of Σ dWᵢ", tooltip);
        return box(BoxClass::kCompute, fmt::format("dW = {}", sum), tooltip);
      });
}

void ParameterServerDiagram::add_update(FlowDiagram& diagram) const {
  const std::size_t times = static_cast<std::size_t>(ps_.asynchronous ? ps_.workers : 1);
  std::string point = "Every worker makes the same update, so the replicas stay equal.";
  if (ps_.server_updates) {
    point = fmt::format("Only {} {}{}: the optimiser's state is there, and nowhere else.",
                        servers_text(), ps_.servers == 1 ? "updates" : "update",
                        times == 1 ? "" : fmt::format(", {} times", times));
  }
  const std::string_view where =
      ps_.server_updates ? "on servers only" : "the same on every worker";
  add(diagram, Phase::kUpdate, Side::kAll,
      ps_.asynchronous ? fmt::format("{}, once a push", where) : std::string(where), point,
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        return box(BoxClass::kUpdate, ps_.asynchronous ? "W ← W − η · dWᵢ" : "W ← W − η · dW",
                   fmt::format("update: on {}", name(rank)));
      });
  const PhaseFacts replicate = facts(Phase::kReplicate, Side::kServers);
  if (replicate.sent.empty()) return;
  add(diagram, Phase::kReplicate, Side::kServers, "",
      fmt::format("The first device of each server hands its result on to its others: {} in all.",
                  format_bytes(replicate.bytes())),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        return box(is_lead(rank) ? BoxClass::kData : BoxClass::kComm,
                   ps_.server_updates ? "W" : "dW", fmt::format("replicate: on {}", name(rank)));
      });
}

/// "worker 2, 0 updates old; worker 0, 1 update old": an asynchronous step's pushes in their order,
/// as server 0 has labelled them.
std::string ParameterServerDiagram::ages() const {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> labels;
  for (const TraceOp& op : trace_.ops) {
    const bool is_one = op.step == step_ && op.rank == replicas() &&
                        op.phase == Phase::kAggregate && !op.label.empty();
    if (is_one) labels.push_back(clean_text(op.label));
  }
  const std::size_t more = labels.size() > kMost ? labels.size() - kMost : 0;
  labels.resize(labels.size() - more);
  return fmt::format("{}{}", fmt::join(labels, "; "),
                     more == 0 ? "" : fmt::format("; and {} more", more));
}

/// The point: what goes through the busiest server, against a rank of a ring.
std::string ParameterServerDiagram::caption() const {
  std::string text = run_text(trace_, "rows per worker:");
  const std::vector<PhaseFacts> phases = {facts(Phase::kPush), facts(Phase::kPull),
                                          facts(Phase::kAggregate),
                                          facts(Phase::kReplicate, Side::kServers)};
  std::size_t in = 0;
  std::size_t out = 0;
  for (int rank = replicas(); rank < trace_.run.devices; ++rank) {
    std::size_t received = 0;
    std::size_t sent = 0;
    for (const PhaseFacts& phase : phases) {
      received += phase.received_by(rank);
      sent += phase.sent_by(rank);
    }
    in = std::max(in, received);
    out = std::max(out, sent);
  }
  if (in + out == 0 || may_be_cut_off(trace_, step_)) return text;
  text += fmt::format(" {} go into {} and {} out of it", format_bytes(in), busiest_text(),
                      in == out ? "as many" : format_bytes(out));
  if (replicas() == 1) return text + ".";
  const double ring =
      2.0 * (replicas() - 1) / replicas() * static_cast<double>(trace_.run.parameter_bytes);
  return text + fmt::format("; into and out of a rank of a ring of {}: 2({}−1)/{} times {}, {}.",
                            replicas(), replicas(), replicas(),
                            format_bytes(trace_.run.parameter_bytes),
                            format_bytes(static_cast<std::size_t>(ring)));
}

FlowDiagram ParameterServerDiagram::make() {
  FlowDiagram diagram;
  diagram.name = fmt::format("step{}", step_);
  diagram.title = fmt::format("Parameter server{}: training step {} on {} and {}",
                              ps_.asynchronous ? ", asynchronous" : "", step_, workers_text(),
                              counted(static_cast<std::size_t>(ps_.servers), "server"));
  diagram.caption = caption() + failure_text(trace_, step_);
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    diagram.lanes.push_back({std::to_string(rank), name(rank), !is_worker(rank), false});
  }
  add_load(diagram);
  if (ps_.server_updates) add_pull(diagram);
  add_compute(diagram);
  add_push(diagram);
  add_aggregate(diagram);
  if (!ps_.server_updates) add_pull(diagram);
  add_update(diagram);
  return diagram;
}

}  // namespace

FlowDiagram parameter_server_diagram(const Trace& trace, int step) {
  return ParameterServerDiagram(trace, step).make();
}

}  // namespace ringside
