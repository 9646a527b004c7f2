#include "parallel/single_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parallel/rehearsal.h"
#include "ringside/error.h"

namespace ringside {
namespace {

/// Where a step stands in its epoch.
struct Place {
  std::int64_t epoch = 0;
  std::int64_t batches = 0;  ///< of each replica, before the step
};

std::int64_t batches_of(const TrainingPlan& plan, int replica) {
  return plan.batches_per_epoch - batches_left_out(plan.scenario, replica);
}

/// The epoch lasts as long as any replica has batches.
Place next_place(const TrainingPlan& plan, Place place) {
  std::int64_t longest = 0;
  for (int replica = 0; replica < plan.replicas; ++replica) {
    longest = std::max(longest, batches_of(plan, replica));
  }
  place.batches += plan.scenario.accumulate;
  return place.batches < longest ? place : Place{place.epoch + 1, 0};
}

/// Of all replicas, in their order.
std::vector<std::int64_t> samples_at(const TrainingPlan& plan, const Place& place) {
  const Scenario& scenario = plan.scenario;
  SamplerOptions sampling;
  sampling.shuffle = scenario.shuffle;
  sampling.seed = scenario.seed;
  std::vector<std::int64_t> samples;
  for (int replica = 0; replica < plan.replicas; ++replica) {
    const std::vector<std::int64_t> own = distributed_sampler(
        plan.data.train.size(), plan.replicas, replica, static_cast<int>(place.epoch), sampling);
    const std::int64_t last =
        std::min(place.batches + scenario.accumulate, batches_of(plan, replica));
    const auto end = std::min(last * scenario.batch_size, static_cast<std::int64_t>(own.size()));
    for (std::int64_t i = place.batches * scenario.batch_size; i < end; ++i) {
      samples.push_back(own[static_cast<std::size_t>(i)]);
    }
  }
  return samples;
}

Batch load(const TrainingPlan& plan, const Place& place, Device& device) {
  std::vector<std::int64_t> samples = samples_at(plan, place);
  LoaderOptions loading;
  loading.batch_size = static_cast<std::int64_t>(samples.size());
  loading.dtype = plan.scenario.dtype;
  Batch batch;
  make_loader(plan.data.train, std::move(samples), device, loading)->next(batch);
  return batch;
}

/// The places of the steps from the first one to the one that is compared.
std::vector<Place> places_until(const TrainingPlan& plan, int last_step) {
  const TrainingState first = plan.first();
  std::vector<Place> places;
  Place place{first.epoch, first.batches};
  for (std::int64_t step = first.step; step <= last_step; ++step) {
    places.push_back(place);
    place = next_place(plan, place);
  }
  if (places.back().epoch < plan.epochs && places.back().batches < batches_of(plan, 0)) {
    return places;
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("verify-step {}: rank 0, whose parameters are compared with those of a "
                          "single device, has no batch then",
                          last_step),
              "name an earlier step, or let another rank have fewer-batches");
}

/// Parts of a batch that go through the model by themselves.
std::int64_t parts_of_a_batch(const Scenario& scenario) {
  if (scenario.strategy != "dp") return scenario.replicas() * scenario.accumulate;
  return scenario.device_ids.empty() ? scenario.devices
                                     : static_cast<std::int64_t>(scenario.device_ids.size());
}

std::string why_unlike(const Scenario& scenario, Module& module, bool draws) {
  if (parts_of_a_batch(scenario) == 1) return {};
  if (draws) return "dropout draws other numbers on each device";
  const bool whole_statistics = scenario.sync_batchnorm && scenario.accumulate == 1;
  if (module.synchronise_batch_norm(nullptr) == 0 || whole_statistics) return {};
  return "the statistics of batch normalisation are of one part of the rows";
}

}  // namespace

std::vector<ParameterValues> values_of(const Module& module) {
  std::vector<ParameterValues> parameters;
  for (const auto& [name, tensor] : module.named_parameters()) {
    parameters.push_back({name, host_values(tensor), {}});
    if (tensor.grad().defined()) parameters.back().gradient = host_values(tensor.grad());
  }
  return parameters;
}

SingleDevice train_single_device(const TrainingPlan& plan, const ModelBuilder& build,
                                 const SingleOptions& options) {
  const auto first = static_cast<int>(plan.first().step);
  SingleDevice result;
  result.step = plan.scenario.verify_step.value_or(first);
  const std::vector<Place> places = places_until(plan, result.step);
  WorldOptions alone;
  alone.workers = plan.scenario.sim_workers;
  const std::unique_ptr<World> world = open_world("sim", alone);
  world->drive([&] {
    Device& device = world->device(0);
    device.set_random_seed(plan.scenario.seed);
    bool draws = false;
    SingleOptions watched = options;
    watched.loss = [&](const Tensor& output, const Tensor& targets) {
      draws = draws || device.next_random_key().draw > 0;  // the forward has drawn before
      return options.loss(output, targets);
    };
    const std::unique_ptr<Strategy> single = make_single(build(device), *world, 0, watched);
    if (plan.start && plan.start->state) load_optimizer(*plan.start, *single);
    for (std::size_t i = 0; i < places.size(); ++i) {
      single->train_step(load(plan, places[i], device), first + static_cast<int>(i));
    }
    result.parameters = values_of(single->module());
    result.unlike = why_unlike(plan.scenario, single->module(), draws);
  });
  return result;
}

}  // namespace ringside
