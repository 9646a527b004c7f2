// The parameter server's step: workers compute gradients on their own rows and push them, servers
// add them up; weights (variant b) or gradients (variant a) are pulled.

#include <fmt/format.h>

#include <algorithm>

#include "views/parameter_server_facts.h"
#include "views/parameter_server_pushes.h"
#include "views/step_diagram.h"
#include "views/text.h"
#include "views/update_rule.h"

namespace ringside {
namespace {

class ParameterServerDiagram {
 public:
  ParameterServerDiagram(const Trace& trace, int step)
      : trace_(trace), step_(step), who_(trace, step), ps_(who_.ps()) {}

  FlowDiagram make();

 private:
  std::string part(std::string_view tensor, int rank) const {
    return fmt::format("{}{}", tensor, subscript(rank));
  }
  std::string busiest_text() const {
    if (ps_.servers * ps_.server_devices == 1) return "the server";
    return ps_.server_devices == 1 ? "each server" : "the busiest device of a server";
  }
  /// "3 workers compute", "1 worker computes".
  std::string workers_do(std::string_view verb, std::string_view ending) const {
    return fmt::format("{} {}{}", who_.workers_text(), verb, ps_.workers == 1 ? ending : "");
  }
  std::string_view their() const { return ps_.workers == 1 ? "its" : "their"; }
  /// "worker", or where one has several: "worker's device".
  std::string_view replica_word() const {
    return ps_.worker_devices == 1 ? "worker" : "worker's device";
  }
  std::string_view replica_noun() const { return ps_.worker_devices == 1 ? "worker" : "device"; }
  /// What a server has of it: "W  9.640 kB", or below "1/2 of W" the bytes of that half.
  std::string shard_text(std::string_view tensor, int rank) const {
    return fmt::format(
        "{}{}{}", who_.shard_of(tensor), ps_.servers == 1 ? "\u00A0 " : "\n",
        format_bytes(ps_.servers == 1 ? trace_.run.parameter_bytes : who_.shard_bytes(rank)));
  }

  template <typename Cell>
  void add(FlowDiagram& diagram, Phase phase, Side side, std::string remark, std::string caption,
           const Cell& cell) const;
  void add_load(FlowDiagram& diagram) const;
  void add_pull(FlowDiagram& diagram) const;
  void add_compute(FlowDiagram& diagram) const;
  void add_push(FlowDiagram& diagram) const;
  void add_aggregate(FlowDiagram& diagram) const;
  void add_update(FlowDiagram& diagram) const;
  void add_replicate_on_servers(FlowDiagram& diagram) const;
  /// Of a rank that has no part in `phase`.
  std::string_view idle_text(int rank, Phase phase) const {
    if (!who_.is_recorded(rank)) return "not recorded";
    const bool serves_others = ps_.asynchronous && ps_.workers > 1 && !who_.is_worker(rank) &&
                               phase != Phase::kLoad && phase != Phase::kPull;
    return serves_others ? "serves others" : "idle";
  }
  std::string optimizer_caption() const;
  std::string caption() const;

  const Trace& trace_;
  int step_;
  ParameterServerFacts who_;
  TraceRun::ParameterServer ps_;
};

/// A row, if the step has the phase. `cell(rank, facts)` for the ranks that do something in it,
/// idle for the others.
template <typename Cell>
void ParameterServerDiagram::add(FlowDiagram& diagram, Phase phase, Side side, std::string remark,
                                 std::string caption, const Cell& cell) const {
  const PhaseFacts facts = who_.facts(phase, side);
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
    const std::optional<FlowBox> box = facts.is_active(rank) && who_.is_recorded(rank)
                                           ? cell(rank, facts)
                                           : std::optional<FlowBox>();
    row.boxes.push_back(box.value_or(idle_box(who_.name(rank), idle_text(rank, phase))));
  }
  diagram.rows.push_back(std::move(row));
}

void ParameterServerDiagram::add_load(FlowDiagram& diagram) const {
  const PhaseFacts load = who_.facts(Phase::kLoad);
  FlowRow row;
  row.phase = row.name = row.title = to_string(Phase::kLoad);
  row.remark = ps_.server_updates ? "own rows; W on servers" : "own rows, full replica";
  row.caption =
      ps_.server_updates
          ? fmt::format("Every {} loads its own rows; the weights, {}, are on {}.", replica_word(),
                        format_bytes(trace_.run.parameter_bytes), who_.servers_text())
          : fmt::format("Every {} loads its own rows and has the whole model, {}.", replica_word(),
                        format_bytes(trace_.run.parameter_bytes));
  const std::string weights = fmt::format("W\u00A0 {}", format_bytes(trace_.run.parameter_bytes));
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    const std::string tooltip = "load: on " + who_.name(rank);
    const bool acts = !who_.is_recorded(rank) || who_.takes_part(rank);
    if (acts && who_.is_worker(rank)) {
      const std::string rows = tensor_text(part("x", rank), largest_arrival(load, rank));
      row.boxes.push_back(box(BoxClass::kData,
                              ps_.server_updates ? rows : fmt::format("{}\n{}", rows, weights),
                              tooltip));
    } else if (acts && ps_.server_updates) {
      row.boxes.push_back(box(BoxClass::kData, shard_text("W", rank), tooltip));
    } else {
      row.boxes.push_back(idle_box(who_.name(rank)));
    }
  }
  diagram.rows.push_back(std::move(row));
}

void ParameterServerDiagram::add_pull(FlowDiagram& diagram) const {
  const std::string_view what = ps_.server_updates ? "W" : "dW";
  const std::string_view word = ps_.server_updates ? "weights" : "gradients";
  add(diagram, Phase::kPull, Side::kAll, "",
      fmt::format("Every worker pulls the {} from {}{}: {} in all.", word, who_.servers_text(),
                  ps_.asynchronous ? " when it may begin, as they are then" : "",
                  format_bytes(who_.facts(Phase::kPull).bytes())),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        const std::string tooltip = fmt::format("pull: on {}", who_.name(rank));
        if (who_.is_worker(rank)) {
          return box(BoxClass::kComm, fmt::format("{} (copy)", what), tooltip);
        }
        return box(BoxClass::kData, who_.shard_of(what), tooltip);
      });
  const PhaseFacts replicate = who_.facts(Phase::kReplicate, Side::kWorkers);
  if (replicate.sent.empty()) return;
  add(diagram, Phase::kReplicate, Side::kWorkers, "",
      fmt::format("The first device of each worker hands the {} on to its others: {} in all.", word,
                  format_bytes(replicate.bytes())),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        return box(who_.is_lead(rank) ? BoxClass::kData : BoxClass::kComm,
                   fmt::format("{} (copy)", what),
                   fmt::format("replicate: on {}", who_.name(rank)));
      });
}

void ParameterServerDiagram::add_compute(FlowDiagram& diagram) const {
  const bool overlaps = ps_.asynchronous && ps_.workers > 1;
  add(diagram, Phase::kForward, Side::kAll,
      overlaps ? "each when it has pulled" : "nothing is sent",
      fmt::format("{} on {} own rows{}; {} {}.", as_sentence(workers_do("compute", "s")), their(),
                  overlaps ? ", each at its own time" : "", who_.servers_text(),
                  overlaps && ps_.servers == 1 ? "meanwhile serves others"
                  : overlaps                   ? "meanwhile serve others"
                  : ps_.servers == 1           ? "is idle"
                                               : "are idle"),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        return box(BoxClass::kCompute, fmt::format("{} = f({})", part("y", rank), part("x", rank)),
                   fmt::format("forward: on {}", who_.name(rank)));
      });
  add(diagram, Phase::kLoss, Side::kAll, fmt::format("mean over the {}'s rows", replica_noun()),
      fmt::format("Every {} has the loss of its own rows.", replica_word()),
      [&](int rank, const PhaseFacts& loss) -> std::optional<FlowBox> {
        const std::optional<double> value = scalar_result(loss, rank);
        return box(
            BoxClass::kLoss,
            fmt::format("{} = {}", part("L", rank),
                        value ? fixed(*value, 3) : fmt::format("loss({}, T)", part("y", rank))),
            fmt::format("loss: on {}", who_.name(rank)));
      });
  add(diagram, Phase::kBackward, Side::kAll, "nothing is sent yet",
      fmt::format("Every {} has the gradients of its own rows; {} pushed when all are there.",
                  replica_word(), ps_.worker_devices == 1 ? "they are" : "their sum is"),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        return box(BoxClass::kCompute, part("dW", rank),
                   fmt::format("backward: on {}", who_.name(rank)));
      });
  add(diagram, Phase::kReduceGrad, Side::kWorkers, "",
      fmt::format(
          "Each worker adds up the gradients of its {} devices on the first one: {} in all.",
          ps_.worker_devices, format_bytes(who_.facts(Phase::kReduceGrad).bytes())),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        const std::string tooltip = fmt::format("reduce-grad: on {}", who_.name(rank));
        return box(
            BoxClass::kComm,
            who_.is_lead(rank) ? who_.gradients_of(who_.number(rank)) : "sends " + part("dW", rank),
            tooltip);
      });
}

void ParameterServerDiagram::add_push(FlowDiagram& diagram) const {
  const PhaseFacts push = who_.facts(Phase::kPush);
  std::size_t most = 0;
  for (int rank = who_.replicas(); rank < trace_.run.devices; ++rank) {
    most = std::max(most, push.received_by(rank));
  }
  add(diagram, Phase::kPush, Side::kAll, "",
      fmt::format("{} {} gradients: {} into {}, {} in all.", as_sentence(workers_do("push", "es")),
                  their(), format_bytes(most), busiest_text(), format_bytes(push.bytes())),
      [&](int rank, const PhaseFacts& facts) -> std::optional<FlowBox> {
        if (who_.is_worker(rank)) return who_.push_box(rank);
        std::size_t pushes = 0;
        for (const auto& [pair, sent] : facts.sent) pushes += pair.second == rank ? 1 : 0;
        return box(BoxClass::kComm,
                   counted(pushes, "gradient") +
                       (ps_.servers == 1 ? "" : fmt::format("\n1/{} of each", ps_.servers)),
                   fmt::format("push: on {}", who_.name(rank)));
      });
}

void ParameterServerDiagram::add_aggregate(FlowDiagram& diagram) const {
  const std::string sum = ps_.mean ? fmt::format("Σ dWᵢ / {}", who_.replicas()) : "Σ dWᵢ";
  const std::string_view division = ps_.mean ? "averaged" : "summed, not averaged";
  add(diagram, Phase::kAggregate, Side::kAll, ps_.mean ? "mean" : "sum",
      fmt::format("The gradients of {} are {} on {}.",
                  counted(static_cast<std::size_t>(who_.replicas()), replica_noun()), division,
                  who_.servers_text()),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        const std::string tooltip = fmt::format("aggregate: on {}", who_.name(rank));
        if (!who_.is_lead(rank)) return box(BoxClass::kCompute, "part of Σ dWᵢ", tooltip);
        return box(BoxClass::kCompute, fmt::format("dW = {}", sum), tooltip);
      });
}

/// Who updates, and where the optimiser's state is.
std::string ParameterServerDiagram::optimizer_caption() const {
  const UpdateRule rule = update_rule(trace_, step_);
  const std::size_t state =
      static_cast<std::size_t>(rule.state_tensors) * trace_.run.parameter_bytes;
  const std::string kept =
      rule.state.empty() ? "which keeps no state"
                         : fmt::format("whose state, {} of {},", rule.state, format_bytes(state));
  if (!ps_.server_updates) {
    return fmt::format("Every {} makes the same update with {}, {}{}; so the replicas stay equal.",
                       replica_word(), rule.name, kept, rule.state.empty() ? "" : " it has too");
  }
  return fmt::format("Only {} {} with {}, {}{}.", who_.servers_text(),
                     ps_.servers == 1 ? "updates" : "update", rule.name, kept,
                     rule.state.empty() ? "" : " is nowhere else");
}

void ParameterServerDiagram::add_update(FlowDiagram& diagram) const {
  const UpdateRule rule = update_rule(trace_, step_);
  add(diagram, Phase::kUpdate, Side::kAll,
      fmt::format("{}, {}", rule.name, ps_.server_updates ? "on servers only" : "on every worker"),
      optimizer_caption(), [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        return box(BoxClass::kUpdate, rule.text("dW"),
                   fmt::format("update: on {}", who_.name(rank)));
      });
}

void ParameterServerDiagram::add_replicate_on_servers(FlowDiagram& diagram) const {
  const PhaseFacts replicate = who_.facts(Phase::kReplicate, Side::kServers);
  if (replicate.sent.empty()) return;
  add(diagram, Phase::kReplicate, Side::kServers, "",
      fmt::format("The first device of each server hands its result on to its others: {} in all.",
                  format_bytes(replicate.bytes())),
      [&](int rank, const PhaseFacts&) -> std::optional<FlowBox> {
        return box(who_.is_lead(rank) ? BoxClass::kData : BoxClass::kComm,
                   ps_.server_updates ? "W" : "dW",
                   fmt::format("replicate: on {}", who_.name(rank)));
      });
}

/// The point: what goes through the busiest server, against a rank of a ring.
std::string ParameterServerDiagram::caption() const {
  std::string text = who_.run_text();
  const std::vector<PhaseFacts> phases = {who_.facts(Phase::kPush), who_.facts(Phase::kPull),
                                          who_.facts(Phase::kAggregate),
                                          who_.facts(Phase::kReplicate, Side::kServers)};
  std::size_t in = 0;
  std::size_t out = 0;
  for (int rank = who_.replicas(); rank < trace_.run.devices; ++rank) {
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
  if (ps_.asynchronous) return text + "; " + pushes_text(who_.pushes()) + ".";
  if (who_.replicas() == 1) return text + ".";
  const double ring = 2.0 * (who_.replicas() - 1) / who_.replicas() *
                      static_cast<double>(trace_.run.parameter_bytes);
  return text + fmt::format("; into and out of a rank of a ring of {}: 2({}−1)/{} times {}, {}.",
                            who_.replicas(), who_.replicas(), who_.replicas(),
                            format_bytes(trace_.run.parameter_bytes),
                            format_bytes(static_cast<std::size_t>(ring)));
}

FlowDiagram ParameterServerDiagram::make() {
  FlowDiagram diagram;
  diagram.name = fmt::format("step{}", step_);
  diagram.title = fmt::format("Parameter server{}: training step {} on {}",
                              ps_.asynchronous ? ", asynchronous" : "", step_, who_.devices_text());
  diagram.caption = caption() + failure_text(trace_, step_);
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    diagram.lanes.push_back({std::to_string(rank), who_.name(rank), !who_.is_worker(rank), false,
                             who_.is_worker(rank) ? "workers" : "servers"});
  }
  add_load(diagram);
  if (ps_.server_updates) add_pull(diagram);
  add_compute(diagram);
  if (ps_.asynchronous) {
    add_push_rows(diagram, trace_, step_, who_);
    return diagram;
  }
  add_push(diagram);
  add_aggregate(diagram);
  if (!ps_.server_updates) {
    add_replicate_on_servers(diagram);
    add_pull(diagram);
  }
  add_update(diagram);
  if (ps_.server_updates) add_replicate_on_servers(diagram);
  return diagram;
}

}  // namespace

FlowDiagram parameter_server_diagram(const Trace& trace, int step) {
  return ParameterServerDiagram(trace, step).make();
}

}  // namespace ringside
