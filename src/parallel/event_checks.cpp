#include "parallel/event_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.h"
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
  std::int64_t longest = 1;
  for (int rank = 0; rank < plan.replicas; ++rank) {
    longest = std::max(longest, steps_per_epoch(plan, rank));
  }
  return longest;
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
  if (steps < plan.total_steps) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("amount {}: has no effect: the run ends after {}, and rank {} has batches for {}",
                  left_out, counted(static_cast<std::size_t>(plan.total_steps), "step"), event.rank,
                  steps),
      "train longer, or leave out more batches");
}

/// Whether a step with it makes other collective calls than a step without.
bool parts_ranks(Kind kind) {
  return kind == Kind::kExtraForward || kind == Kind::kSecondBackward || kind == Kind::kBypass ||
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

void check_event(const TrainingPlan& plan, const ScenarioEvent& event, Module& module) {
  if (event.kind == Kind::kFewerBatches) return check_fewer_batches(plan, event);
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

}  // namespace

void check_events(const TrainingPlan& plan, Module& module) {
  for (const ScenarioEvent& event : plan.scenario.events) {
    try {
      check_event(plan, event, module);
    } catch (const Error& error) {
      throw error.with_prefix(fmt::format("event {}: ", to_string(event.kind)));
    }
  }
}

}  // namespace ringside
