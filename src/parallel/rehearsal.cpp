#include "parallel/rehearsal.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.h"
#include "core/split.h"
#include "ringside/error.h"
#include "ringside/nn.h"
#include "ringside/world.h"

namespace ringside {
namespace {

using Kind = ScenarioEvent::Kind;

void check_event(const TrainingPlan& plan, const ScenarioEvent& event, Module& module) {
  if (event.kind == Kind::kFewerBatches) {
    const std::int64_t left_out = batches_left_out(plan.scenario, event.rank);
    if (left_out < plan.batches_per_epoch) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("amount {}: rank {} would train nothing, an epoch has {} batches",
                            left_out, event.rank, plan.batches_per_epoch),
                fmt::format("leave out at most {}", plan.batches_per_epoch - 1));
  }
  if (event.step >= plan.total_steps) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("step {}: the run has {}, counted from 0", event.step,
                            counted(static_cast<std::size_t>(plan.total_steps), "step")),
                "name an earlier step, or train longer");
  }
  if (!event.parameter.empty()) parameter_named(module, event.parameter);
  if (event.kind == Kind::kUnusedHead) module.use_second_head(true);
}

void check_start(const TrainingPlan& plan, const Module& module) {
  const StartingPoint& start = *plan.start;
  check_fits(start, module);
  if (!start.state) return;
  const TrainingState& state = *start.state;
  if (!state.data.empty() && state.data != plan.data_checksum) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: data {} had the checksum {} then, and has {} now", start.path,
                            plan.scenario.data, state.data, plan.data_checksum),
                "train on the data of then, or start a new training from its values with --load");
  }
  if (state.step >= plan.total_steps) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{}: was taken after {} steps, and the run has {}: nothing is left to do",
                    start.path, state.step, plan.total_steps),
        "raise --steps or --epochs, which count from the very beginning");
  }
  if (state.batches < plan.batches_per_epoch && state.epoch < plan.epochs) return;
  throw Error(
      ErrorKind::kInvalidInput,
      fmt::format("{}: stands in epoch {} after {} batches, but an epoch has {} and the run "
                  "{} epochs",
                  start.path, state.epoch, state.batches, plan.batches_per_epoch, plan.epochs),
      "the file is damaged, or the data are others now");
}

void check_verify_step(const TrainingPlan& plan) {
  const int step = plan.scenario.verify_step.value_or(static_cast<int>(plan.first().step));
  if (step >= plan.total_steps) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("verify-step {}: the run has {}, counted from 0", step,
                            counted(static_cast<std::size_t>(plan.total_steps), "step")),
                "name an earlier step, or train longer");
  }
  if (step >= plan.first().step) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("verify-step {} and resume: {} was taken after {}", step, plan.start->path,
                  counted(static_cast<std::size_t>(plan.first().step), "step")),
      fmt::format("name a step from {} on, or leave --verify-step out", plan.first().step));
}

}  // namespace

std::int64_t batches_left_out(const Scenario& scenario, int rank) {
  constexpr double kMost = 1e15;  // more than there are, and a whole number
  double batches = 0;
  for (const ScenarioEvent& event : scenario.events) {
    if (event.kind == Kind::kFewerBatches && event.rank == rank) batches += event.amount;
  }
  return static_cast<std::int64_t>(std::min(batches, kMost));
}

std::shared_ptr<Module> build_model(const Scenario& scenario, const TrainTest& data,
                                    Device& device) {
  const auto rank = static_cast<std::uint64_t>(device.rank());
  Generator generator(scenario.seed + (scenario.seed_per_rank ? rank : 0));
  std::shared_ptr<Module> module = make_model(scenario.model, {device, scenario.dtype, generator},
                                              data.train.sample_shape, data.train.classes);
  for (const std::string& name : split<std::string>(scenario.frozen, ',')) {
    parameter_named(*module, name).set_requires_grad(false);
  }
  return module;
}

Tensor parameter_named(const Module& module, const std::string& name) {
  std::string names;
  for (const NamedTensor& entry : module.named_parameters()) {
    if (entry.name == name) return entry.tensor;
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("there is no parameter '{}'; the model has {}", name, names));
}

ModelSize rehearse(const TrainingPlan& plan) {
  const std::unique_ptr<World> world = open_world("meta", {});
  const std::shared_ptr<Module> module = build_model(plan.scenario, plan.data, world->device(0));
  if (plan.start) check_start(plan, *module);
  if (plan.scenario.verify) check_verify_step(plan);
  check_checkpoints_fall_between_updates(plan.scenario, plan.total_steps, plan.batches_per_epoch);
  if (plan.scenario.sync_batchnorm && module->synchronise_batch_norm(nullptr) == 0) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("sync-batchnorm: model '{}' has no batch normalisation", plan.scenario.model),
        "take a model that has, such as mlp:64,32,10:bn or resnet:8,16");
  }
  for (const ScenarioEvent& event : plan.scenario.events) {
    try {
      check_event(plan, event, *module);
    } catch (const Error& error) {
      throw error.with_prefix(fmt::format("event {}: ", to_string(event.kind)));
    }
  }
  ModelSize size;
  for (const NamedTensor& entry : module->named_parameters()) {
    size.parameters += static_cast<std::size_t>(entry.tensor.numel());
    size.bytes += entry.tensor.bytes();
  }
  return size;
}

}  // namespace ringside
