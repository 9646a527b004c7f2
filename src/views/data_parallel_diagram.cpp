// DataParallel's step: the batch is scattered from home, the parameters are broadcast, outputs and
// gradients come back; the other devices wait while home computes the loss and updates.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>

#include "views/step_diagram.h"
#include "views/text.h"
#include "views/update_rule.h"

namespace ringside {
namespace {

class DataParallelDiagram {
 public:
  DataParallelDiagram(const Trace& trace, int step)
      : trace_(trace), step_(step), device_(device_word(trace)) {
    ids_ = trace.run.device_ids;
    if (ids_.empty()) {
      for (int rank = 0; rank < trace.run.devices; ++rank) ids_.push_back(rank);
    }
    const PhaseFacts forward = facts(Phase::kForward);
    const PhaseFacts replicate = facts(Phase::kReplicate);
    const PhaseFacts scatter =
        may_be_cut_off(trace, step) ? facts(Phase::kScatterInput) : PhaseFacts{};
    for (const int rank : ids_) {
      if (forward.is_active(rank)) computing_.push_back(rank);
      if (forward.is_active(rank) || replicate.is_active(rank) || scatter.is_active(rank)) {
        workers_.push_back(rank);
      }
    }
    std::sort(workers_.begin(), workers_.end());
  }

  FlowDiagram make();

 private:
  PhaseFacts facts(Phase phase) const { return facts_of_phase(trace_, step_, phase); }
  int home() const { return ids_.front(); }
  std::string name(int rank) const { return fmt::format("{} {}", device_, rank); }
  static bool is_in(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  }
  bool works(int rank) const { return is_in(workers_, rank); }
  // Chunks are numbered in the order of the device ids.
  std::string part(std::string_view tensor, int rank) const {
    const auto place = std::find(ids_.begin(), ids_.end(), rank);
    return fmt::format("{}{}", tensor, subscript(static_cast<int>(place - ids_.begin())));
  }

  FlowRow row(Phase phase, const PhaseFacts& facts) const;
  FlowBox cell(Phase phase, const PhaseFacts& facts, int rank) const;
  std::string part_of_batch(int rank) const;
  FlowBox load_cell(const PhaseFacts& facts, int rank) const;
  FlowBox loss_cell(const PhaseFacts& facts, int rank) const;
  std::string forward_text(int rank) const;
  FlowBox sent_output_cell(const PhaseFacts& facts, int rank) const;
  bool losses_are_gathered() const { return trace_.run.loss_in_forward; }
  std::string parts_text() const;
  std::string title_of(Phase phase) const;
  std::string remark_of(Phase phase, const PhaseFacts& facts) const;
  std::string caption_of(Phase phase, const PhaseFacts& facts) const;
  std::string caption(std::size_t bytes, std::size_t through_home) const;

  const Trace& trace_;
  int step_;
  std::string device_;
  std::vector<int> ids_;
  std::vector<int> workers_;    // devices that got a part of the batch, or a copy of the module
  std::vector<int> computing_;  // those of them that ran a forward
};

FlowBox DataParallelDiagram::load_cell(const PhaseFacts& facts, int rank) const {
  if (rank != home()) return {};
  return box(BoxClass::kData,
             fmt::format("{}\nW\u00A0 {}", tensor_text("X", largest_arrival(facts, rank)),
                         format_bytes(trace_.run.parameter_bytes)),
             fmt::format("load: batch and model on {}", name(rank)));
}

// A network that first reshapes its input reads the same rows in another form.
std::string DataParallelDiagram::part_of_batch(int rank) const {
  const TraceTensor* read = first_read(facts(Phase::kForward), rank);
  const TraceTensor* batch = largest_arrival(facts(Phase::kLoad), home());
  if (read == nullptr || batch == nullptr || read->shape.rank() == batch->shape.rank() ||
      batch->shape.rank() == 0) {
    return tensor_text(part("x", rank), read);
  }
  TraceTensor rows = *read;
  rows.shape = batch->shape.with(0, read->shape[0]);
  return tensor_text(part("x", rank), &rows);
}

FlowBox DataParallelDiagram::loss_cell(const PhaseFacts& facts, int rank) const {
  if (!facts.is_active(rank) || rank != trace_.run.output_device) return idle_box(name(rank));
  const std::optional<double> value = scalar_result(facts, rank);
  const std::string_view gradient = losses_are_gathered() ? "dℓ" : "dY";
  return box(BoxClass::kLoss,
             value ? fmt::format("L = {}, then {}", fixed(*value, 3), gradient)
                   : fmt::format("L = {}, then {}", losses_are_gathered() ? "f(ℓ)" : "loss(Y, T)",
                                 gradient),
             fmt::format("loss: on {}", name(rank)));
}

std::string DataParallelDiagram::forward_text(int rank) const {
  const std::string output = fmt::format("f({})", part("x", rank));
  if (!losses_are_gathered()) return fmt::format("{} = {}", part("y", rank), output);
  return fmt::format("{} = loss({}, {})", part("ℓ", rank), output, part("t", rank));
}

// A device that is not the output's sends what it has computed. While outputs come to a device that
// is not home, home also keeps the targets that the loss needs.
FlowBox DataParallelDiagram::sent_output_cell(const PhaseFacts& facts, int rank) const {
  const bool keeps_targets = this->facts(Phase::kLoss).sent_by(rank) > 0;
  if (facts.sent_by(rank) > 0) {
    return box(
        BoxClass::kData,
        part(losses_are_gathered() ? "ℓ" : "y", rank) + (keeps_targets ? "\nT (targets)" : ""),
        fmt::format("gather-output: from {}", name(rank)));
  }
  if (!keeps_targets) return idle_box(name(rank));
  FlowBox targets = box(BoxClass::kData, "T (targets)", "targets: on " + name(rank));
  targets.follows = false;
  return targets;
}

FlowBox DataParallelDiagram::cell(Phase phase, const PhaseFacts& facts, int rank) const {
  const std::string tooltip = fmt::format("{}: on {}", title_of(phase), name(rank));
  const bool is_root = facts.root() == rank;
  const BoxClass arrived = is_root ? BoxClass::kData : BoxClass::kComm;
  // Of a step that was cut off not all of a phase need have come about, and a copy need not run.
  const bool is_whole = !may_be_cut_off(trace_, step_) && is_in(computing_, rank);
  const bool takes_part = works(rank) && (is_whole || facts.is_active(rank) || is_root);
  switch (phase) {
    case Phase::kLoad:
      return load_cell(facts, rank);
    case Phase::kLoss:
      return loss_cell(facts, rank);
    case Phase::kScatterInput:
      if (!takes_part) return idle_box(name(rank));
      return box(arrived, part_of_batch(rank), tooltip);
    case Phase::kReplicate:
      if (!takes_part) return idle_box(name(rank));
      return box(arrived, rank == home() ? "W (the original)" : "W (copy)", tooltip);
    case Phase::kForward:
      if (!takes_part) return idle_box(name(rank));
      return box(BoxClass::kCompute, forward_text(rank), tooltip);
    case Phase::kGatherOutput:
      if (!is_root) return sent_output_cell(facts, rank);
      return box(BoxClass::kComm,
                 tensor_text(losses_are_gathered() ? "ℓ" : "Y",
                             first_read(this->facts(Phase::kLoss), rank)),
                 tooltip);
    case Phase::kScatterGrad:
      if (!takes_part) return idle_box(name(rank));
      return box(arrived, part(losses_are_gathered() ? "dℓ" : "dy", rank), tooltip);
    case Phase::kBackward:
      if (!takes_part) return idle_box(name(rank));
      return box(BoxClass::kCompute, part("dW", rank), tooltip);
    case Phase::kReduceGrad:
      if (is_root) return box(BoxClass::kComm, "dW = Σ dWᵢ", tooltip);
      if (facts.sent_by(rank) == 0) return idle_box(name(rank));
      return box(BoxClass::kData, part("dW", rank), tooltip);
    case Phase::kUpdate:
      if (rank == home()) {
        return box(BoxClass::kUpdate, update_rule(trace_, step_).text("dW"), tooltip);
      }
      return idle_box(name(rank), works(rank) ? "copy is freed" : "idle");
    default:
      return {};
  }
}

// "each of 4 devices its part of the batch (3, 3, 3, 1 rows)"; without the rows where all are
// equal.
std::string DataParallelDiagram::parts_text() const {
  const PhaseFacts forward = facts(Phase::kForward);
  std::vector<std::int64_t> rows;
  for (const int rank : ids_) {
    const TraceTensor* read = works(rank) ? first_read(forward, rank) : nullptr;
    if (read != nullptr && read->shape.rank() > 0) rows.push_back(read->shape[0]);
  }
  const bool even =
      std::adjacent_find(rows.begin(), rows.end(), std::not_equal_to<>()) == rows.end();
  return fmt::format("each of {} its part of the batch{}", counted(workers_.size(), device_),
                     even ? "" : fmt::format(" ({} rows)", fmt::join(rows, ", ")));
}

std::string DataParallelDiagram::title_of(Phase phase) const {
  if (phase == Phase::kReplicate) return "replicate (broadcast)";
  if (phase == Phase::kReduceGrad) return "reduce-grad (sum)";
  return std::string(to_string(phase));
}

std::string DataParallelDiagram::remark_of(Phase phase, const PhaseFacts& facts) const {
  if (phase == Phase::kLoss && !facts.sent.empty()) return "targets: " + transfer_remark(facts);
  if (!facts.sent.empty()) return transfer_remark(facts);
  switch (phase) {
    case Phase::kLoad:
      return fmt::format("batch and model on {}", name(home()));
    case Phase::kForward:
      return fmt::format("{}, 1 process", counted(workers_.size(), "thread"));
    case Phase::kLoss:
      return fmt::format("{} only", name(trace_.run.output_device));
    case Phase::kBackward:
      return workers_.size() == 1
                 ? fmt::format("{} only", name(workers_.front()))
                 : fmt::format("{}, each its part", devices_text(trace_, workers_));
    case Phase::kUpdate:
      return fmt::format("{} only", name(home()));
    default:
      return "stays where it is";
  }
}

std::string DataParallelDiagram::caption_of(Phase phase, const PhaseFacts& facts) const {
  const std::string bytes = format_bytes(facts.bytes());
  const std::string output = name(trace_.run.output_device);
  switch (phase) {
    case Phase::kLoad:
      return fmt::format("The whole batch is on {}, where the model is.", name(home()));
    case Phase::kScatterInput:
      return fmt::format("{} sends {}: {} in all.", name(home()), parts_text(), bytes);
    case Phase::kReplicate:
      return fmt::format("{} sends its parameters to the others, again in every step: {} in all.",
                         name(home()), bytes);
    case Phase::kForward:
      return fmt::format("{} of {} devices compute, each {} its part.", workers_.size(),
                         trace_.run.devices, losses_are_gathered() ? "the loss of" : "on");
    case Phase::kGatherOutput:
      return fmt::format("All {} come to {}: {} in all.",
                         losses_are_gathered() ? "losses, one of each part," : "outputs", output,
                         bytes);
    case Phase::kLoss:
      if (losses_are_gathered()) {
        return fmt::format("{} makes one loss of those of the parts; the others are idle.", output);
      }
      return fmt::format("{} computes the loss of the whole batch{}; the others are idle.", output,
                         facts.sent.empty()
                             ? ""
                             : fmt::format(" with {} of targets from {}", bytes, name(home())));
    case Phase::kScatterGrad:
      return fmt::format("{} sends each device the gradient of its outputs: {} in all.", output,
                         bytes);
    case Phase::kBackward:
      return fmt::format("{} of {} devices compute, each the gradient of its part.",
                         workers_.size(), trace_.run.devices);
    case Phase::kReduceGrad:
      return fmt::format("The gradients are summed, not averaged, on {}: {} in all.", name(home()),
                         bytes);
    case Phase::kUpdate:
      return fmt::format("Only {} updates; the copies are thrown away.", name(home()));
    default:
      return "";
  }
}

FlowRow DataParallelDiagram::row(Phase phase, const PhaseFacts& facts) const {
  FlowRow row;
  row.phase = to_string(phase);
  row.name = row.phase;
  row.title = title_of(phase);
  row.remark = remark_of(phase, facts);
  row.remark_is_bytes = !facts.sent.empty();
  row.caption = may_be_cut_off(trace_, step_) ? cut_off_caption(facts, trace_.run.devices, device_)
                                              : as_sentence(caption_of(phase, facts));
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    row.boxes.push_back(cell(phase, facts, rank));
  }
  row.ports = ports_of(facts, trace_.run.devices, row.title, device_);
  return row;
}

std::string DataParallelDiagram::caption(std::size_t bytes, std::size_t through_home) const {
  std::string text = run_text(trace_, "batch");
  if (bytes == 0) {
    text += " Nothing moves between devices in this step.";
  } else if (through_home == bytes) {
    text += fmt::format(" {} move between devices in this step, all of it from or to {}.",
                        format_bytes(bytes), name(home()));
  } else {
    const std::size_t other = bytes - through_home;
    const std::string share = other < through_home ? fmt::format("all but {}", format_bytes(other))
                                                   : format_bytes(through_home);
    text += fmt::format(" {} move between devices in this step, {} of it from or to {}.",
                        format_bytes(bytes), share, name(home()));
  }
  if (may_be_cut_off(trace_, step_)) return text + failure_text(trace_, step_);
  std::vector<int> idle;
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    if (!works(rank) && rank != trace_.run.output_device) idle.push_back(rank);
  }
  if (!idle.empty()) {
    text += fmt::format(" {} {} nothing to do.", as_sentence(devices_text(trace_, idle)),
                        idle.size() == 1 ? "has" : "have");
  }
  return text;
}

FlowDiagram DataParallelDiagram::make() {
  constexpr std::array<Phase, 10> kPhases = {
      Phase::kLoad,         Phase::kScatterInput, Phase::kReplicate,   Phase::kForward,
      Phase::kGatherOutput, Phase::kLoss,         Phase::kScatterGrad, Phase::kBackward,
      Phase::kReduceGrad,   Phase::kUpdate};
  FlowDiagram diagram;
  diagram.name = fmt::format("step{}", step_);
  diagram.title = fmt::format("DataParallel: training step {} on {}", step_,
                              counted(static_cast<std::size_t>(trace_.run.devices), device_));
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    FlowLane lane;
    lane.id = std::to_string(rank);
    lane.home = rank == home();
    lane.title = name(rank);
    if (lane.home) lane.title += " = device_ids[0]";
    if (!lane.home && rank == trace_.run.output_device) lane.title += " = output_device";
    diagram.lanes.push_back(lane);
  }
  std::size_t bytes = 0;
  std::size_t through_home = 0;
  for (const Phase phase : kPhases) {
    const PhaseFacts facts = this->facts(phase);
    if (facts.ops.empty() && phase != Phase::kLoad) continue;
    diagram.rows.push_back(row(phase, facts));
    bytes += facts.bytes();
    for (const auto& [pair, sent] : facts.sent) {
      if (pair.first == home() || pair.second == home()) through_home += sent.bytes;
    }
  }
  diagram.caption = caption(bytes, through_home);
  return diagram;
}

}  // namespace

FlowDiagram data_parallel_diagram(const Trace& trace, int step) {
  return DataParallelDiagram(trace, step).make();
}

}  // namespace ringside
