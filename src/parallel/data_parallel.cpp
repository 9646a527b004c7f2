// torch.nn.DataParallel: one thread, one process, several devices.
//
// A step: scatter-input, replicate, forward, gather-output, loss (on the output device),
// scatter-grad, backward, reduce-grad, update (at home). Gradients are summed, not averaged: a mean
// loss over the gathered output already holds the 1/B. Nothing is sent after the update; the next
// forward replicates. [torch/nn/parallel/data_parallel.py, replicate.py, parallel_apply.py] Left
// out: several and keyword inputs, scalar outputs, the imbalance warning.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "parallel/chunks.h"
#include "parallel/data_parallel_nodes.h"
#include "parallel/driven_group.h"
#include "parallel/step_scope.h"
#include "parallel/tensors_of.h"
#include "ringside/error.h"
#include "ringside/strategy.h"

namespace ringside {
namespace {

class DataParallel : public Strategy {
 public:
  DataParallel(std::shared_ptr<Module> module, World& world, const DataParallelOptions& options);

  std::string_view name() const override { return "dp"; }
  StepResult train_step(const Batch& batch, int step, const StepDirectives& directives) override;
  Tensor evaluate(const Batch& batch) override;
  Device& input_device() override { return home(); }
  std::vector<NamedTensor> state_dict() const override { return module_->state_dict("module."); }
  Module& module() override { return *module_; }
  Optimizer& optimizer() override { return *optimizer_; }

 private:
  Device& home() const { return world_.device(options_.device_ids.front()); }
  Device& output_device() const { return world_.device(options_.output_device); }

  /// `asked`: rows for each device; empty = torch.chunk's.
  Tensor forward(const Tensor& inputs, const std::vector<std::int64_t>& asked);
  std::vector<std::int64_t> split(const Tensor& inputs,
                                  const std::vector<std::int64_t>& asked) const;
  std::vector<std::shared_ptr<Module>> replicate(DrivenGroup& group);
  std::vector<Tensor> parallel_apply(const std::vector<std::shared_ptr<Module>>& replicas,
                                     const std::vector<Tensor>& inputs);
  Tensor loss_at_home(const Tensor& output, const Tensor& targets);
  Tensor loss_of(const Tensor& output, const Tensor& targets);
  void check_module_is_home() const;
  DrivenGroup& group_of(const std::vector<int>& world_ranks);

  std::shared_ptr<Module> module_;
  World& world_;
  DataParallelOptions options_;
  std::vector<Device*> devices_;            // every one that a step can touch
  std::vector<std::string> replica_names_;  // borrowed by OpContext::host_thread
  std::map<std::vector<int>, std::unique_ptr<DrivenGroup>> groups_;
  std::unique_ptr<Optimizer> optimizer_;
};

void check_devices(const World& world, const DataParallelOptions& options) {
  std::set<int> seen;
  for (const int id : options.device_ids) {
    if (id < 0 || id >= world.size()) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("device_ids [{}]: there is no device {}, the world has devices 0 to "
                              "{}",
                              fmt::join(options.device_ids, ", "), id, world.size() - 1));
    }
    if (!seen.insert(id).second) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("device_ids [{}]: device {} is listed twice",
                              fmt::join(options.device_ids, ", "), id));
    }
  }
  if (options.output_device < 0 || options.output_device >= world.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("output_device {}: the world has devices 0 to {}",
                            options.output_device, world.size() - 1));
  }
}

DataParallel::DataParallel(std::shared_ptr<Module> module, World& world,
                           const DataParallelOptions& options)
    : module_(std::move(module)), world_(world), options_(options) {
  if (options_.device_ids.empty()) {
    options_.device_ids.resize(static_cast<std::size_t>(world.size()));
    std::iota(options_.device_ids.begin(), options_.device_ids.end(), 0);
  }
  if (options_.output_device == -1) options_.output_device = options_.device_ids.front();
  // Without NCCL, PyTorch copies from and to the first device; that is a star.
  if (options_.algorithm == Algorithm::kAutomatic) options_.algorithm = Algorithm::kStar;
  check_devices(world, options_);
  std::set<int> touched(options_.device_ids.begin(), options_.device_ids.end());
  touched.insert(options_.output_device);
  for (const int id : touched) devices_.push_back(&world.device(id));
  for (std::size_t i = 0; i < options_.device_ids.size(); ++i) {
    replica_names_.push_back(fmt::format("replica {}", i));
  }
  check_module_is_home();
  optimizer_ = options_.optimizer(module_->named_parameters("module."));
}

void DataParallel::check_module_is_home() const {
  for (const NamedTensor& entry : module_->state_dict()) {
    if (&entry.tensor.device() == &home()) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("module must have its parameters and buffers on device {} "
                            "(device_ids[0]) but found one of them on device {}: {}",
                            home().rank(), entry.tensor.device().rank(), entry.name),
                "build the module on the first of the device ids");
  }
}

DrivenGroup& DataParallel::group_of(const std::vector<int>& world_ranks) {
  std::unique_ptr<DrivenGroup>& group = groups_[world_ranks];
  if (!group) group = std::make_unique<DrivenGroup>(world_, world_ranks);
  return *group;
}

std::vector<std::int64_t> DataParallel::split(const Tensor& inputs,
                                              const std::vector<std::int64_t>& asked) const {
  const std::int64_t rows = inputs.shape()[options_.dim];
  if (asked.empty()) {
    return chunk_sizes(rows, static_cast<int>(options_.device_ids.size()));
  }
  const std::int64_t sum = std::accumulate(asked.begin(), asked.end(), std::int64_t{0});
  if (sum != rows || asked.size() > options_.device_ids.size()) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("chunk_sizes [{}] add up to {} for {} devices: the batch has {} rows along "
                    "dimension {}, and each device takes at most one chunk",
                    fmt::join(asked, ", "), sum, options_.device_ids.size(), rows, options_.dim),
        "give sizes that add up to the batch, at most one per device; drop the last short batch");
  }
  return asked;
}

std::vector<std::shared_ptr<Module>> DataParallel::replicate(DrivenGroup& group) {
  const StepScope phase(devices_, Phase::kReplicate);
  const std::vector<std::vector<Tensor>> parameters =
      broadcast_tensors(tensors_of(module_->named_parameters()), group, options_.algorithm,
                        home().context().grad_enabled);
  const std::vector<std::vector<Tensor>> buffers =
      broadcast_tensors(tensors_of(module_->named_buffers()), group, options_.algorithm, false);
  std::vector<std::shared_ptr<Module>> replicas;
  for (std::size_t member = 0; member < parameters.size(); ++member) {
    replicas.push_back(module_->shallow_copy());
    replicas.back()->replace_tensors(parameters[member], buffers[member]);
  }
  return replicas;
}

std::vector<Tensor> DataParallel::parallel_apply(
    const std::vector<std::shared_ptr<Module>>& replicas, const std::vector<Tensor>& inputs) {
  const StepScope phase(devices_, Phase::kForward);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    Device& device = inputs[i].device();
    OpContext context = device.context();
    context.host_thread = replica_names_[i];
    const ContextScope thread(device, context);
    try {
      outputs.push_back(replicas[i]->forward(inputs[i]));
    } catch (const Error& error) {
      throw error.with_prefix(fmt::format("in replica {} on device {}: ", i, device.rank()));
    }
  }
  return outputs;
}

Tensor DataParallel::forward(const Tensor& inputs, const std::vector<std::int64_t>& asked) {
  check_module_is_home();
  if (options_.device_ids.size() == 1 && options_.output_device == options_.device_ids.front()) {
    const StepScope phase(devices_, Phase::kForward);
    return module_->forward(inputs);
  }
  const std::vector<std::int64_t> sizes = split(inputs, asked);
  std::vector<int> used(options_.device_ids.begin(),
                        options_.device_ids.begin() + static_cast<std::ptrdiff_t>(sizes.size()));
  DrivenGroup& group = group_of(used);
  const std::vector<Tensor> parts = [&] {
    const StepScope phase(devices_, Phase::kScatterInput);
    return group.scatter(inputs, options_.dim, sizes, 0, MemoryKind::kInputs, "input");
  }();
  const std::vector<Tensor> outputs = parallel_apply(replicate(group), parts);
  if (group.member_of(options_.output_device) < 0) used.push_back(options_.output_device);
  DrivenGroup& gathering = group_of(used);
  const StepScope phase(devices_, Phase::kGatherOutput);
  return gather_outputs(outputs, options_.dim, gathering,
                        gathering.member_of(options_.output_device));
}

/// Of the bare module's output, which is where the batch is.
Tensor DataParallel::loss_at_home(const Tensor& output, const Tensor& targets) {
  const StepScope phase(devices_, Phase::kLoss);
  return options_.loss(output, targets);
}

Tensor DataParallel::loss_of(const Tensor& output, const Tensor& targets) {
  const StepScope phase(devices_, Phase::kLoss);
  if (&targets.device() == &output_device()) return options_.loss(output, targets);
  // The script moves the targets to where the output is (target.to(output.device)).
  DrivenGroup& pair = group_of({targets.device().rank(), options_.output_device});
  const Tensor moved = Tensor::empty(output_device(), targets.shape(), targets.dtype(),
                                     MemoryKind::kInputs, targets.name());
  const auto count = static_cast<std::size_t>(targets.numel());
  pair.collective([&](int member, Communicator& communicator, Stream& stream) {
    return member == 0 ? communicator.send(targets.array(), count, 1, stream)
                       : communicator.recv(moved.array(), count, 0, stream);
  });
  return options_.loss(output, moved);
}

StepResult DataParallel::train_step(const Batch& batch, int step,
                                    const StepDirectives& directives) {
  const StepScope scope(devices_, step, Phase::kForward);
  module_->train();
  optimizer_->zero_grad();
  for (int i = 0; i < directives.extra_forwards; ++i) {
    forward(batch.inputs, options_.chunk_sizes);
  }
  const Tensor output = directives.bypass ? module_->forward(batch.inputs)
                                          : forward(batch.inputs, options_.chunk_sizes);
  const Tensor loss =
      directives.bypass ? loss_at_home(output, batch.targets) : loss_of(output, batch.targets);
  {
    const StepScope phase(devices_, Phase::kBackward);
    backward(loss);
  }
  const StepScope phase(devices_, Phase::kUpdate);
  optimizer_->step();
  return {loss.detach(), batch.rows()};
}

Tensor DataParallel::evaluate(const Batch& batch) {
  const StepScope phase(devices_, Phase::kEvaluate);
  for (Device* device : devices_) device->context().grad_enabled = false;
  module_->train(false);
  return forward(batch.inputs, {});  // chunk sizes are those of a training batch
}

}  // namespace

std::unique_ptr<Strategy> make_data_parallel(std::shared_ptr<Module> module, World& world,
                                             const DataParallelOptions& options) {
  return std::make_unique<DataParallel>(std::move(module), world, options);
}

}  // namespace ringside
