#include "parallel/rehearsal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/counted.h"
#include "core/nearest_name.h"
#include "core/split.h"
#include "parallel/event_checks.h"
#include "ringside/error.h"
#include "ringside/nn.h"
#include "ringside/world.h"

namespace ringside {
namespace {

using Kind = ScenarioEvent::Kind;

/// As the parameters' names begin in the state_dict of a wrapper.
constexpr std::string_view kWrapper = "module.";

void freeze(Module& module, const Scenario& scenario) {
  try {
    for (const std::string& name : split<std::string>(scenario.frozen, ',')) {
      parameter_named(module, name).set_requires_grad(false);
    }
  } catch (const Error& error) {
    throw error.with_prefix("frozen: ");
  }
}

/// ddp's wrapper says so itself.
void check_something_trains(const Scenario& scenario, const Module& module) {
  const std::vector<NamedTensor> parameters = module.named_parameters();
  const bool any = std::any_of(parameters.begin(), parameters.end(),
                               [](const auto& entry) { return entry.tensor.requires_grad(); });
  if (any || scenario.strategy == "ddp") return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("frozen {}: these are all parameters of the model, so that its loss does "
                          "not require grad and does not have a grad_fn",
                          scenario.frozen),
              "leave a parameter to train");
}

void check_dim(const TrainingPlan& plan) {
  const auto dimensions = static_cast<int>(plan.data.train.sample_shape.rank()) + 1;
  const int dim = plan.scenario.dim;
  if (dim >= -dimensions && dim < dimensions) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("dim {}: a batch of {} has {} dimensions, {} to {}", dim,
                          plan.scenario.data, dimensions, -dimensions, dimensions - 1),
              "dimension 0 is that of the rows");
}

void check_accumulate(const TrainingPlan& plan) {
  if (plan.scenario.accumulate <= std::max<std::int64_t>(plan.batches_per_epoch, 1)) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("accumulate {}: an epoch of a rank has batches for {}, and a step ends "
                  "with it",
                  plan.scenario.accumulate, plan.batches_per_epoch),
      fmt::format("accumulate at most {}, or take a smaller --batch-size", plan.batches_per_epoch));
}

/// Where ranks end an epoch together, in one number of steps.
bool has_even_epochs(const Scenario& scenario) {
  return scenario.join == "off" && !scenario.asynchronous &&
         std::none_of(scenario.events.begin(), scenario.events.end(),
                      [](const auto& event) { return event.kind == Kind::kFewerBatches; });
}

void check_place(const TrainingPlan& plan, const TrainingState& state) {
  if (!has_even_epochs(plan.scenario)) return;
  const std::int64_t accumulate = plan.scenario.accumulate;
  const auto steps_of = [&](std::int64_t batches) {
    return (batches + accumulate - 1) / accumulate;
  };
  const std::int64_t steps =
      state.epoch * steps_of(plan.batches_per_epoch) + steps_of(state.batches);
  if (state.step == steps) return;
  throw Error(
      ErrorKind::kInvalidInput,
      fmt::format("{}: step, epoch and batches do not agree: step {}, epoch {}, batches {}; "
                  "with {} batches an epoch that place is after step {}",
                  plan.start->path, state.step, state.epoch, state.batches, plan.batches_per_epoch,
                  steps),
      "the file is damaged or was changed by hand; take another checkpoint");
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
  if (state.batches < plan.batches_per_epoch && state.epoch < plan.epochs) {
    return check_place(plan, state);
  }
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
  if (rank >= scenario.replicas()) {
    std::int64_t of_all = batches_left_out(scenario, 0);
    for (int worker = 1; worker < scenario.replicas(); ++worker) {
      of_all = std::min(of_all, batches_left_out(scenario, worker));
    }
    return of_all;
  }
  constexpr double kMost = 1e15;  // more than there are, and a whole number
  double batches = 0;
  for (const ScenarioEvent& event : scenario.events) {
    if (event.kind == Kind::kFewerBatches && event.rank == rank) batches += event.amount;
  }
  return static_cast<std::int64_t>(std::min(batches, kMost));
}

std::int64_t longest_epoch(const Scenario& scenario, std::int64_t batches) {
  std::int64_t fewest = batches_left_out(scenario, 0);
  for (int rank = 1; rank < scenario.replicas(); ++rank) {
    fewest = std::min(fewest, batches_left_out(scenario, rank));
  }
  return std::max(batches - fewest, std::min<std::int64_t>(batches, 1));
}

const std::string& model_of(const Scenario& scenario, int rank) {
  for (const ScenarioEvent& event : scenario.events) {
    if (event.kind == Kind::kOtherModel && event.rank == rank) return event.model;
  }
  return scenario.model;
}

std::shared_ptr<Module> build_model(const Scenario& scenario, const std::string& model,
                                    const TrainTest& data, Device& device) {
  const auto rank = static_cast<std::uint64_t>(device.rank());
  Generator generator(scenario.seed + (scenario.seed_per_rank ? rank : 0));
  std::shared_ptr<Module> module = make_model(model, {device, scenario.dtype, generator},
                                              data.train.sample_shape, data.train.classes);
  freeze(*module, scenario);
  return module;
}

Tensor parameter_named(const Module& module, const std::string& name) {
  const std::vector<NamedTensor> parameters = module.named_parameters();
  std::vector<std::string_view> names;
  for (const NamedTensor& entry : parameters) {
    if (entry.name == name) return entry.tensor;
    names.push_back(entry.name);
  }
  const bool wrapped = name.starts_with(kWrapper);
  const std::string nearest =
      nearest_name(wrapped ? std::string_view(name).substr(kWrapper.size()) : name, names);
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("there is no parameter '{}'; the model has {}", name, fmt::join(names, ", ")),
      nearest.empty() ? ""
                      : fmt::format("did you mean {}?{}", nearest,
                                    wrapped ? " Names are those before wrapping" : ""));
}

ModelSize rehearse(const TrainingPlan& plan) {
  const std::unique_ptr<World> world = open_world("meta", {});
  const std::shared_ptr<Module> module =
      build_model(plan.scenario, plan.scenario.model, plan.data, world->device(0));
  if (plan.start) check_start(plan, *module);
  if (plan.scenario.verify) check_verify_step(plan);
  check_checkpoints_fall_between_updates(plan.scenario, plan.total_steps, plan.batches_per_epoch);
  if (plan.scenario.sync_batchnorm && module->synchronise_batch_norm(nullptr) == 0) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("sync-batchnorm: model '{}' has no batch normalisation", plan.scenario.model),
        "take a model that has, such as mlp:64,32,10:bn or resnet:8,16");
  }
  check_something_trains(plan.scenario, *module);
  check_dim(plan);
  check_accumulate(plan);
  check_events(plan, *module);
  ModelSize size;
  for (const NamedTensor& entry : module->named_parameters()) {
    size.parameters += static_cast<std::size_t>(entry.tensor.numel());
    size.bytes += entry.tensor.bytes();
  }
  return size;
}

}  // namespace ringside
