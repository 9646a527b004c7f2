// From a Scenario to a finished run: data, world, model, strategy, training loop, report.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "parallel/call_forms.h"
#include "parallel/logits.h"
#include "parallel/rank_failures.h"
#include "parallel/rehearsal.h"
#include "parallel/trainer.h"
#include "ringside/error.h"
#include "ringside/world.h"

namespace ringside {
namespace {

constexpr std::int64_t kTokensWithoutContext = 64;  // of a text, for a model that takes none

TrainingPlan make_plan(const Scenario& scenario, const TrainTest& data, Recorder* recorder,
                       const RunObserver& observer, std::chrono::steady_clock::time_point started) {
  const int replicas = scenario.replicas();
  const std::int64_t samples = (data.train.size() + replicas - 1) / replicas;
  const std::int64_t batches = (samples + scenario.batch_size - 1) / scenario.batch_size;
  const std::int64_t steps =
      (longest_epoch(scenario, batches) + scenario.accumulate - 1) / scenario.accumulate;
  std::int64_t epochs = scenario.epochs.value_or(1);
  std::int64_t total_steps = steps * epochs;
  if (scenario.steps) {
    total_steps = *scenario.steps;
    epochs = steps > 0 ? (total_steps + steps - 1) / steps : 0;
  }
  if (total_steps > kMaxSteps) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("epochs {}: {} steps of {} each are more than {}: the loss of every "
                            "step is kept",
                            epochs, total_steps, scenario.batch_size, kMaxSteps),
                "train for fewer epochs or in larger batches");
  }
  return {scenario,
          data,
          recorder,
          observer,
          replicas,
          batches,
          static_cast<int>(epochs),
          static_cast<int>(total_steps),
          started,
          {}};
}

OptimizerFactory optimizer_factory(const Scenario& scenario) {
  OptimizerOptions options;
  options.sgd.lr = scenario.lr;
  options.sgd.momentum = scenario.momentum;
  options.sgd.weight_decay = scenario.weight_decay;
  options.sgd.nesterov = scenario.nesterov;
  options.adam.lr = scenario.lr;
  options.adam.beta1 = scenario.beta1;
  options.adam.beta2 = scenario.beta2;
  options.adam.epsilon = scenario.epsilon;
  options.adam.weight_decay = scenario.weight_decay;
  options.clip_grad_norm = scenario.clip_grad_norm;
  return [name = scenario.optimizer, options](std::vector<NamedTensor> parameters) {
    return make_optimizer(name, std::move(parameters), options);
  };
}

void check_model_fits(const Scenario& scenario, const TrainTest& data) {
  const bool tokens = token_context(scenario.model).has_value();
  if (tokens == data.train.is_text()) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("model '{}' and data '{}': {}", scenario.model, scenario.data,
                          tokens ? "the model takes tokens, which only a text has"
                                 : "the model has one answer for a sample, a text asks one for "
                                   "each token"),
              tokens ? "choose --data text:FILE" : "choose --model gpt");
}

Tensor training_loss(const Tensor& output, const Tensor& targets) {
  return cross_entropy(logit_rows(output), target_rows(targets));
}

/// The model of the rank of `device`, on it, with the values of the file that it begins with.
std::shared_ptr<Module> first_model(const TrainingPlan& plan, Device& device) {
  std::shared_ptr<Module> module =
      build_model(plan.scenario, model_of(plan.scenario, device.rank()), plan.data, device);
  if (plan.start) load_model(*plan.start, *module);
  return module;
}

/// `error` of a DataParallel that cuts along another dimension than the rows, which a model may
/// need whole.
Error with_dim(const Error& error, const Scenario& scenario) {
  const bool cut = scenario.strategy == "dp" && scenario.dim != 0;
  if (!cut || error.kind() != ErrorKind::kInvalidArgument) return error;
  return {
      error.kind(), fmt::format("dim {}: {}", scenario.dim, error.what()),
      error.hint().empty() ? "the model needs this dimension whole: leave dim out" : error.hint()};
}

/// single and dp: this thread drives every device.
void train_driven(World& world, const TrainingPlan& plan, TrainingResult& result) {
  const Scenario& scenario = plan.scenario;
  world.drive([&] {
    std::unique_ptr<Strategy> strategy;
    std::vector<Device*> devices;
    for (const int rank : world.local_ranks()) devices.push_back(&world.device(rank));
    const int home = scenario.device_ids.empty() ? 0 : scenario.device_ids.front();
    if (home >= world.size()) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("device id {}: the run has devices 0 to {}", home, world.size() - 1),
                  "raise --devices or name other --device-ids");
    }
    std::shared_ptr<Module> module =
        first_model(plan, world.device(scenario.module_device.value_or(home)));
    if (scenario.strategy == "single") {
      strategy = make_single(std::move(module), world, home,
                             {training_loss, optimizer_factory(scenario), scenario.set_to_none});
    } else {
      DataParallelOptions options;
      options.device_ids = scenario.device_ids;
      options.output_device = scenario.output_device.value_or(-1);
      options.chunk_sizes = scenario.chunk_sizes;
      options.dim = scenario.dim;
      options.algorithm = scenario.algorithm;
      options.warn = [&plan](const std::string& text) { plan.warnings->tell(text); };
      strategy = make_data_parallel(
          std::move(module), world, options,
          {training_loss, optimizer_factory(scenario),
           scenario.loss_in == "forward" ? LossPlace::kForward : LossPlace::kOutput,
           scenario.gathered_loss == "sum" ? LossReduction::kSum : LossReduction::kMean,
           parse_input_form(scenario.input_form), parse_output_form(scenario.output_form),
           scenario.set_to_none});
    }
    Trainer(plan, *strategy, devices, nullptr, result).run();
  });
}

/// As a user may write one who expects DDP to divide, which it does not with a hook.
CommunicationHook summing_hook(Algorithm algorithm) {
  return [algorithm](const GradientBucket& bucket, Rank& rank) -> ReducedBucket {
    return {bucket.values, all_reduce_in_place(rank, bucket.values, algorithm)};
  };
}

CommunicationHook communication_hook(const Scenario& scenario) {
  if (scenario.comm_hook == "allreduce") return all_reduce_hook(scenario.algorithm);
  if (scenario.comm_hook == "fp16") return fp16_compress_hook(scenario.algorithm);
  if (scenario.comm_hook == "bf16") return bf16_compress_hook(scenario.algorithm);
  if (scenario.comm_hook == "sum") return summing_hook(scenario.algorithm);
  return {};
}

std::optional<JoinOptions> join_options(const Scenario& scenario) {
  if (scenario.join == "off") return std::nullopt;
  JoinOptions join;
  join.divide_by_initial_world_size = scenario.join != "active";
  join.throw_on_early_termination = scenario.join == "throw";
  return join;
}

DdpOptions ddp_options(const TrainingPlan& plan, int rank) {
  const Scenario& scenario = plan.scenario;
  constexpr double kMiB = 1024 * 1024;
  DdpOptions options;
  options.bucket_cap_bytes = static_cast<std::size_t>(scenario.bucket_cap_mb * kMiB);
  options.first_bucket_bytes = static_cast<std::size_t>(scenario.first_bucket_mb * kMiB);
  options.device_ids = scenario.device_ids;
  options.broadcast_buffers = scenario.broadcast_buffers;
  options.find_unused_parameters = scenario.find_unused_parameters;
  options.static_graph = scenario.static_graph;
  options.gradient_as_bucket_view = scenario.gradient_as_bucket_view;
  options.communication_hook = communication_hook(scenario);
  options.join = join_options(scenario);
  options.warn = [&plan, rank](const std::string& text) {
    plan.warnings->tell_of_rank(text, rank);
  };
  options.set_to_none = scenario.set_to_none;
  options.algorithm = scenario.algorithm;
  options.loss = training_loss;
  options.optimizer = optimizer_factory(scenario);
  return options;
}

ParameterServerOptions parameter_server_options(const TrainingPlan& plan) {
  const Scenario& scenario = plan.scenario;
  ParameterServerOptions options;
  options.workers = scenario.workers;
  options.servers = scenario.servers;
  options.worker_devices = scenario.worker_devices;
  options.server_devices = scenario.server_devices;
  options.server_updates = scenario.variant == "b";
  options.mean = scenario.server_op == "mean";
  options.asynchronous = scenario.asynchronous;
  options.staleness = scenario.staleness;
  options.seed = scenario.seed;
  for (int worker = 0; worker < scenario.workers; ++worker) {
    const int lead = worker * scenario.worker_devices;
    options.worker_steps.push_back(
        static_cast<int>(plan.batches_per_epoch - batches_left_out(scenario, lead)));
  }
  options.loss = training_loss;
  Scenario updating = scenario;
  if (options.server_updates) options.clip_grad_norm = std::exchange(updating.clip_grad_norm, 0);
  options.optimizer = optimizer_factory(updating);
  return options;
}

std::unique_ptr<Strategy> make_rank_strategy(const TrainingPlan& plan, Rank& rank, World& shapes) {
  const Scenario& scenario = plan.scenario;
  const bool computes = rank.rank < scenario.replicas();
  std::shared_ptr<Module> module =
      computes ? first_model(plan, rank.device)
               : build_model(scenario, scenario.model, plan.data, shapes.device(0));
  if (scenario.sync_batchnorm) convert_sync_batchnorm(*module, rank);
  if (scenario.strategy == "ddp") {
    return make_ddp(std::move(module), rank, ddp_options(plan, rank.rank));
  }
  return make_parameter_server(std::move(module), rank, parameter_server_options(plan));
}

/// ddp, ps: one thread (or process) per rank; `results` has one for each local rank.
void train_ranks(World& world, const TrainingPlan& plan, std::vector<TrainingResult>& results) {
  const int first = world.local_ranks().front();
  try {
    world.run([&](Rank& rank) {
      const std::unique_ptr<World> shapes = open_world("meta", {});  // of what a server has not
      const std::unique_ptr<Strategy> strategy = make_rank_strategy(plan, rank, *shapes);
      TrainingResult& result = results[static_cast<std::size_t>(rank.rank - first)];
      Trainer(plan, *strategy, {&rank.device}, &rank, result).run();
    });
  } catch (const Error& error) {
    throw with_cause(error, plan, results, first);
  }
  check_nobody_stopped(plan, results, first);
}

TraceRun describe_run(const TrainingPlan& plan, const World& world, const TrainingResult& result) {
  const Scenario& scenario = plan.scenario;
  TraceRun run;
  run.strategy = scenario.strategy;
  run.backend = scenario.backend;
  run.model = scenario.model;
  run.data = scenario.data;
  run.devices = world.size();
  run.device_ids = scenario.device_ids;
  if (!scenario.has_ranks() && run.device_ids.empty()) {
    for (int id = 0; id < world.size(); ++id) run.device_ids.push_back(id);
  }
  // With one device nothing is gathered: the output stays where it is, whatever was asked for.
  const int home = run.device_ids.empty() ? 0 : run.device_ids.front();
  run.output_device = run.device_ids.size() == 1 ? home : scenario.output_device.value_or(home);
  run.loss_in_forward = scenario.strategy == "dp" && scenario.loss_in == "forward";
  run.batch_size = scenario.batch_size;
  run.dtype = scenario.dtype;
  run.parameters = plan.model.parameters;
  run.parameter_bytes = plan.model.bytes;
  run.buckets = result.buckets;
  if (scenario.strategy == "ps") {
    run.parameter_server = TraceRun::ParameterServer{
        scenario.workers,        scenario.servers,        scenario.worker_devices,
        scenario.server_devices, scenario.variant == "b", scenario.server_op == "mean",
        scenario.asynchronous};
  }
  return run;
}

}  // namespace

RunReport run_scenario(const Scenario& scenario, const TraceOptions& trace_options, Trace* trace,
                       const RunObserver& observer) {
  const auto started = std::chrono::steady_clock::now();
  scenario.validate();
  const TrainTest data = load_dataset(
      scenario.data, scenario.seed, token_context(scenario.model).value_or(kTokensWithoutContext));
  check_model_fits(scenario, data);
  const std::optional<StartingPoint> start = read_starting_point(scenario);
  std::unique_ptr<Recorder> recorder;
  if (trace) recorder = std::make_unique<Recorder>(trace_options);

  WorldOptions world_options;
  world_options.size = scenario.strategy == "single" ? 1 : scenario.devices;
  world_options.memory_capacity = scenario.memory;
  world_options.memory_capacities = scenario.device_memory;
  world_options.workers = scenario.sim_workers;
  world_options.stepwise_collectives = scenario.stepwise;
  world_options.listener = recorder.get();
  std::unique_ptr<World> world = open_world(scenario.backend, world_options);
  for (const int rank : world->local_ranks()) world->device(rank).set_random_seed(scenario.seed);

  for (Communicator* communicator : world->local_communicators()) {
    communicator->set_defaults({Algorithm::kAutomatic, scenario.direction, scenario.border,
                                scenario.pieces, scenario.node_size});
  }
  const bool ranks = scenario.has_ranks();
  TrainingPlan plan = make_plan(scenario, data, recorder.get(), observer, started);
  if (start) plan.start = &*start;
  if (!scenario.save.empty() || !scenario.resume.empty()) plan.data_checksum = checksum_of(data);
  plan.model = rehearse(plan);
  if (scenario.verify) {
    plan.single_device =
        train_single_device(plan, [&plan](Device& device) { return first_model(plan, device); },
                            {training_loss, optimizer_factory(scenario), scenario.set_to_none});
  }
  Warnings warnings(observer, world->size(), static_cast<int>(world->local_ranks().size()));
  plan.warnings = &warnings;
  std::vector<TrainingResult> results(ranks ? world->local_ranks().size() : 1);
  try {
    if (ranks) {
      train_ranks(*world, plan, results);
    } else {
      try {
        train_driven(*world, plan, results.front());
      } catch (const Error& error) {
        throw with_dim(error, scenario);
      }
    }
  } catch (const std::exception& error) {
    warnings.tell_rest();
    if (trace && world->local_ranks().front() == 0) {
      TraceRun run = describe_run(plan, *world, results.front());
      run.failure = error.what();
      const auto by_steps = [](const auto& a, const auto& b) { return a.steps < b.steps; };
      const int finished = std::min_element(results.begin(), results.end(), by_steps)->steps;
      run.failed_step = finished < plan.total_steps ? finished : -1;
      world.reset();  // ends what is still under way
      *trace = recorder->take(std::move(run));
    }
    throw;
  }

  warnings.tell_rest();
  RunReport report;
  const TrainingResult& first = results.front();
  report.scenario = scenario;
  report.primary = world->local_ranks().front() == 0;
  report.epochs = first.epochs;
  report.step_losses = first.step_losses;
  report.steps = first.steps;
  report.first_step = static_cast<int>(plan.first().step);
  report.saved = first.saved;
  report.checksum = first.checksum;
  report.counted_calls = first.counted_calls;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool has_model = !ranks || world->local_ranks()[i] < scenario.replicas();
    if (!has_model) continue;
    report.rank_checksums.push_back(results[i].checksum);
    report.rank_parameter_checksums.push_back(results[i].parameter_checksum);
  }
  for (const int rank : world->local_ranks()) {
    report.memory.push_back(world->device(rank).memory());
  }
  report.parameters = plan.model.parameters;
  report.parameter_bytes = plan.model.bytes;
  if (scenario.verify) {
    report.verification = first.verification;
    report.verification->ranks = plan.replicas;
  }
  report.warnings = warnings.told();
  report.first_step_seconds = first.first_step_seconds;
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (trace) *trace = recorder->take(describe_run(plan, *world, first));
  return report;
}

}  // namespace ringside
