// The trainer's checkpoints: where it begins, and what it leaves on the way.
#include <fmt/format.h>

#include <string>

#include "parallel/exchange.h"
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

/// After a step, and again when all ranks have ended the epoch: with join, a rank without batches
/// has the values of the others' steps only then.
void Trainer::save_if_due(bool epoch_is_over) {
  bool due = false;
  while (asked_until_ < step_) {
    due |= checkpoint_is_due(plan_.scenario, ++asked_until_, plan_.total_steps);
  }
  const bool run_is_over = epoch_is_over && epoch_ + 1 == plan_.epochs;
  due |= run_is_over && !plan_.scenario.save.empty() && step_ > plan_.first().step;
  if (!due || saved_after_ == step_) return;
  saved_after_ = step_;
  const Unrecorded unrecorded(devices_);
  strategy_.end_epoch();
  warn_of_values_that_differ();
  const std::vector<NamedTensor> optimizer_state = strategy_.optimizer_state();
  if (own_rank() != 0) return;
  TrainingState state{step_, epoch_, batches_, strategy_.next_buckets(), plan_.data_checksum};
  if (epoch_is_over || state.batches == plan_.batches_per_epoch) {
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

}  // namespace ringside
