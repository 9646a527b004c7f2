#include "parallel/event_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/counted.h"
#include "parallel/checkpointing.h"
#include "parallel/rehearsal.h"
#include "ringside/error.h"

namespace ringside {
namespace {

using Kind = ScenarioEvent::Kind;

/// Steps that a rank takes in an epoch.
std::int64_t steps_per_epoch(const TrainingPlan& plan, int rank) {
  const std::int64_t batches = plan.batches_per_epoch - batches_left_out(plan.scenario, rank);
  return (batches + plan.scenario.accumulate - 1) / plan.scenario.accumulate;
}

/// Of the rank that takes the most.
std::int64_t steps_per_epoch(const TrainingPlan& plan) {
  const std::int64_t longest = longest_epoch(plan.scenario, plan.batches_per_epoch);
  return (longest + plan.scenario.accumulate - 1) / plan.scenario.accumulate;
}

bool takes_step(const TrainingPlan& plan, int rank, int step) {
  return step % steps_per_epoch(plan) < steps_per_epoch(plan, rank);
}

void check_fewer_batches(const TrainingPlan& plan, const ScenarioEvent& event) {
  const std::int64_t left_out = batches_left_out(plan.scenario, event.rank);
  if (left_out >= plan.batches_per_epoch) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("amount {}: rank {} would train nothing, an epoch has {} batches",
                            left_out, event.rank, plan.batches_per_epoch),
                fmt::format("leave out at most {}", plan.batches_per_epoch - 1));
  }
  const std::int64_t steps = steps_per_epoch(plan, event.rank);
  if (!plan.scenario.steps || steps < plan.total_steps) return;  // else an epoch runs to its end
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("amount {}: has no effect: the run ends after {}, and rank {} has batches for {}",
                  left_out, counted(static_cast<std::size_t>(plan.total_steps), "step"), event.rank,
                  steps),
      "train longer, or leave out more batches");
}

/// Whether a step with it makes other collective calls than a step without.
bool parts_ranks(Kind kind) {
  return kind == Kind::kExtraForward || kind == Kind::kNoGradForward ||
         kind == Kind::kSecondBackward || kind == Kind::kSummedLosses || kind == Kind::kBypass ||
         kind == Kind::kNoSync;
}

std::ptrdiff_t events_like(const TrainingPlan& plan, const ScenarioEvent& event, int rank) {
  const auto& events = plan.scenario.events;
  return std::count_if(events.begin(), events.end(), [&](const ScenarioEvent& other) {
    return other.kind == event.kind && other.step == event.step && other.rank == rank;
  });
}

/// Inside join ranks tell each other in every forward that they have a batch.
void check_joined(const TrainingPlan& plan, const ScenarioEvent& event) {
  if (plan.scenario.join == "off" || !parts_ranks(event.kind)) return;
  for (int rank = 0; rank < plan.replicas; ++rank) {
    const bool active = takes_step(plan, rank, event.step);
    if (active && events_like(plan, event, rank) == events_like(plan, event, event.rank)) continue;
    if (!active && event.kind == Kind::kNoSync) continue;  // the others say so
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("join {}: in step {} rank {} would make other collective calls than "
                            "rank {}, which {}",
                            plan.scenario.join, event.step, event.rank, rank,
                            active ? "has no such event" : "has no batch there"),
                active ? "give every rank the event, or leave --join out"
                       : "name a step in which all ranks have a batch, or leave --join out");
  }
}

/// Builds the other model, too.
void check_other_model(const TrainingPlan& plan, const ScenarioEvent& event, Device& device) {
  if (event.model == plan.scenario.model) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("model '{}': is the one that every rank has", event.model),
                "name another model");
  }
  const auto& events = plan.scenario.events;
  const auto of_this_rank =
      std::count_if(events.begin(), events.end(), [&](const ScenarioEvent& other) {
        return other.kind == Kind::kOtherModel && other.rank == event.rank;
      });
  if (of_this_rank > 1) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("rank {}: has {} of them, and builds one model", event.rank, of_this_rank),
        "leave all but one out");
  }
  const std::shared_ptr<Module> module = build_model(plan.scenario, event.model, plan.data, device);
  if (plan.start) check_fits(*plan.start, *module);
}

/// Two forwards, and of their losses either a backward each or one backward.
void check_summed_losses(const TrainingPlan& plan, const ScenarioEvent& event) {
  ScenarioEvent other = event;
  other.kind = Kind::kSecondBackward;
  if (events_like(plan, other, event.rank) == 0) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("step {}: rank {} has a second-backward there, which wants a backward "
                          "of each loss",
                          event.step, event.rank),
              "leave one of them out");
}

void check_event(const TrainingPlan& plan, const ScenarioEvent& event, Module& module) {
  if (event.kind == Kind::kFewerBatches) return check_fewer_batches(plan, event);
  if (event.kind == Kind::kOtherModel) {
    return check_other_model(plan, event, module.named_parameters().front().tensor.device());
  }
  if (event.kind == Kind::kSummedLosses) check_summed_losses(plan, event);
  if (event.step >= plan.total_steps) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("step {}: the run has {}, counted from 0", event.step,
                            counted(static_cast<std::size_t>(plan.total_steps), "step")),
                "name an earlier step, or train longer");
  }
  if (event.rank < plan.replicas && !takes_step(plan, event.rank, event.step)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("step {}: rank {} has no batch there: it takes {} of an epoch's {}",
                            event.step, event.rank, steps_per_epoch(plan, event.rank),
                            counted(static_cast<std::size_t>(steps_per_epoch(plan)), "step")),
                "name a step that the rank takes");
  }
  check_joined(plan, event);
  if (!event.parameter.empty()) parameter_named(module, event.parameter);
  if (event.kind == Kind::kUnusedHead) module.use_second_head(true);
}

/// Where PyTorch says in backward that the loss does not require grad, of no event and no
/// parameter.
void check_something_trains_on(const TrainingPlan& plan, int rank, std::set<std::string> trained) {
  std::vector<ScenarioEvent> events = plan.scenario.events;
  std::erase_if(events, [&](const ScenarioEvent& event) {
    return event.rank != rank || (event.kind != Kind::kFreeze && event.kind != Kind::kReplace);
  });
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  for (std::size_t i = 0; i < events.size() && !trained.empty(); ++i) {
    const ScenarioEvent& event = events[i];
    if (event.kind == Kind::kFreeze) trained.erase(event.parameter);
    if (event.kind == Kind::kReplace) trained.insert(event.parameter);  // by one that requires grad
    const bool step_goes_on = i + 1 < events.size() && events[i + 1].step == event.step;
    if (step_goes_on || !trained.empty()) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("event freeze: with {} frozen before step {}, rank {} has no parameter "
                            "left that trains, so that its loss does not require grad and does not "
                            "have a grad_fn",
                            event.parameter, event.step, rank),
                "leave a parameter to train");
  }
}

}  // namespace

void check_events(const TrainingPlan& plan, Module& module) {
  for (const ScenarioEvent& event : plan.scenario.events) {
    try {
      check_event(plan, event, module);
    } catch (const Error& error) {
      throw error.with_prefix(fmt::format("event {}: ", to_string(event.kind)));
    }
  }
  const auto& events = plan.scenario.events;
  if (std::none_of(events.begin(), events.end(),
                   [](const auto& event) { return event.kind == Kind::kFreeze; })) {
    return;
  }
  std::set<std::string> trained;
  for (const NamedTensor& entry : module.named_parameters()) {
    if (entry.tensor.requires_grad()) trained.insert(entry.name);
  }
  for (int rank = 0; rank < plan.replicas; ++rank) check_something_trains_on(plan, rank, trained);
}

}  // namespace ringside
