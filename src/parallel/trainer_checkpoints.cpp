// The trainer's checkpoints: where it begins, and what it leaves on the way.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "parallel/exchange.h"
#include "parallel/rehearsal.h"
#include "parallel/state_checksum.h"
#include "parallel/trainer.h"
#include "parallel/unrecorded.h"

namespace ringside {

void Trainer::restore() {
  if (!plan_.start || !plan_.start->state) return;
  const Unrecorded unrecorded(devices_);
  StepDirectives past;
  for (const ScenarioEvent& event : plan_.scenario.events) {
    const bool lasts =
        event.kind == ScenarioEvent::Kind::kFreeze || event.kind == ScenarioEvent::Kind::kReplace;
    if (lasts && event.rank == own_rank() && event.step < step_) apply(event, past);
  }
  load_optimizer(*plan_.start, strategy_);
  if (!strategy_.takes_batches()) return;  // a server, which has learnt the values from worker 0
  load_model(*plan_.start, strategy_.module());  // into what was replaced, too
  restore_buckets(*plan_.start, strategy_);
}

/// After a step, and again when no rank has a step left in this epoch, or in the run: with join, a
/// rank without batches has the values of the others' steps only then, and all have the buffers
/// that the next step begins with.
void Trainer::save_if_due(bool all_ranks_have_ended) {
  const bool joins = plan_.scenario.join != "off";
  if (joins && !all_ranks_have_ended && step_ == plan_.total_steps) return;
  bool due = false;
  while (asked_until_ < step_) {
    due |= checkpoint_is_due(plan_.scenario, ++asked_until_, plan_.total_steps);
  }
  const bool run_is_over = all_ranks_have_ended && epoch_ + 1 == plan_.epochs;
  due |= run_is_over && !plan_.scenario.save.empty() && step_ > plan_.first().step;
  if (!due || saved_after_ == step_) return;
  saved_after_ = step_;
  const Unrecorded unrecorded(devices_);
  strategy_.end_epoch();
  warn_of_values_that_differ();
  const std::vector<NamedTensor> optimizer_state = strategy_.optimizer_state();
  if (own_rank() != 0) return;
  if (joins && !all_ranks_have_ended) warn_of_buffers_that_differ();
  if (joins && !optimizer_state.empty()) warn_of_updates_that_differ();
  TrainingState state{step_, epoch_, batches_, strategy_.next_buckets(), plan_.data_checksum};
  // The run may end within an epoch of which this rank has no batches left, but others have.
  if (state.batches >= longest_epoch(plan_.scenario, plan_.batches_per_epoch)) {
    ++state.epoch;
    state.batches = 0;
  }
  result_.saved.push_back(checkpoint_path(plan_.scenario, step_));
  save_checkpoint(plan_.scenario, state, strategy_.module(), optimizer_state, result_.saved.back());
}

/// The file has rank 0's alone. DDP's buffers may differ where a forward begins with rank 0's; with
/// join, ranks that are done do not take part.
void Trainer::warn_of_values_that_differ() {
  const Scenario& scenario = plan_.scenario;
  if (rank_ == nullptr || scenario.join != "off") return;
  std::int64_t own = 0;
  if (strategy_.takes_batches()) {
    const bool with_buffers = scenario.strategy == "ddp" && !scenario.broadcast_buffers;
    const Module& module = strategy_.module();
    own = short_checksum(with_buffers ? module.state_dict() : module.named_parameters());
  }
  const std::vector<std::int64_t> all = value_of_all(*rank_, own);
  std::string others;
  for (int rank = 1; rank < plan_.replicas; ++rank) {
    if (all[static_cast<std::size_t>(rank)] == all.front()) continue;
    others += fmt::format("{}{}", others.empty() ? "" : ", ", rank);
  }
  if (own_rank() != 0 || others.empty() || plan_.warnings == nullptr) return;
  plan_.warnings->tell(
      fmt::format("the checkpoint after step {} has the values of rank 0; those of rank {} are "
                  "others and in no file: a resumed training begins with rank 0's everywhere",
                  step_, others));
}

/// Inside join a forward begins with the buffers of the highest rank that has a batch.
void Trainer::warn_of_buffers_that_differ() {
  if (plan_.warnings == nullptr || plan_.replicas == 1) return;
  if (strategy_.module().named_buffers().empty()) return;
  plan_.warnings->tell(
      fmt::format("the checkpoint after step {} has the buffers of rank 0; inside join the next "
                  "step would begin with those of the highest rank that has a batch, which are in "
                  "no file",
                  step_));
}

/// Inside join a rank without batches makes no updates, and gets the others' parameters at the end,
/// but not what their optimisers have kept.
void Trainer::warn_of_updates_that_differ() {
  if (plan_.warnings == nullptr) return;
  const auto left_out = [&](int rank) { return batches_left_out(plan_.scenario, rank); };
  std::int64_t fewest = left_out(0);
  std::int64_t most = left_out(0);
  for (int rank = 1; rank < plan_.replicas; ++rank) {
    fewest = std::min(fewest, left_out(rank));
    most = std::max(most, left_out(rank));
  }
  if (fewest == most || step_ <= plan_.batches_per_epoch - most) return;
  plan_.warnings->tell(
      fmt::format("the checkpoint after step {} has the optimizer's state of rank 0; ranks that "
                  "join has given another number of updates have others, which are in no file",
                  step_));
}

}  // namespace ringside
