// The wrapper: scatter-input, replicate, forward, gather-output. What follows is the trainer's
// (data_parallel_training.cpp), and autograd's (data_parallel_nodes.h).
#include "ringside/data_parallel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <set>
#include <utility>

#include "parallel/chunks.h"
#include "parallel/data_parallel_nodes.h"
#include "parallel/driven_group.h"
#include "parallel/imbalance.h"
#include "parallel/scatter_gather.h"
#include "parallel/step_scope.h"
#include "parallel/tensors_of.h"
#include "ringside/error.h"

namespace ringside {
namespace {

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

DataParallelOptions completed(DataParallelOptions options, const World& world) {
  if (options.device_ids.empty()) {
    options.device_ids.resize(static_cast<std::size_t>(world.size()));
    std::iota(options.device_ids.begin(), options.device_ids.end(), 0);
  }
  if (options.output_device == -1) options.output_device = options.device_ids.front();
  // Without NCCL, PyTorch copies from and to the first device; that is a star.
  if (options.algorithm == Algorithm::kAutomatic) options.algorithm = Algorithm::kStar;
  check_devices(world, options);
  return options;
}

void check_calls(const std::vector<std::shared_ptr<Module>>& replicas,
                 const std::vector<Arguments>& calls, std::size_t device_ids) {
  if (replicas.size() != calls.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("parallel_apply: {} replicas for {} calls: each needs one",
                            replicas.size(), calls.size()),
                "replicate as often as scatter returned arguments");
  }
  if (replicas.size() > device_ids) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("parallel_apply: {} replicas for {} device ids: at most one for each",
                            replicas.size(), device_ids));
  }
}

/// -1 is the last dimension of a tensor.
int counted_from_front(int dim, const Tensor& tensor) {
  return dim < 0 ? dim + static_cast<int>(tensor.shape().rank()) : dim;
}

/// Tensor.size(dim), of what is to be gathered.
void check_has_dimension(const Tensor& part, int dim) {
  const auto dimensions = static_cast<int>(part.shape().rank());
  if (dim >= -dimensions && dim < dimensions) return;
  throw Error(
      ErrorKind::kTrainingFailed,
      dimensions == 0
          ? fmt::format("gather: Dimension specified as {} but tensor has no dimensions", dim)
          : fmt::format("gather: Dimension out of range (expected to be in range of "
                        "[{}, {}], but got {})",
                        -dimensions, dimensions - 1, dim),
      "outputs are joined along the dimension that inputs are cut along");
}

/// module.to(device).
void move_module(Module& module, Device& device) {
  const auto all_moved = [&](const std::vector<NamedTensor>& entries) {
    std::vector<Tensor> tensors;
    for (const auto& [name, old] : entries) {
      if (&old.device() == &device) {
        tensors.push_back(old);
        continue;
      }
      tensors.push_back(Tensor::from_host(device, old.shape(), old.dtype(), host_values(old),
                                          MemoryKind::kParameters, old.name()));
      tensors.back().set_requires_grad(old.requires_grad());
    }
    return tensors;
  };
  module.replace_tensors(all_moved(module.named_parameters()), all_moved(module.named_buffers()));
}

}  // namespace

DataParallel::DataParallel(std::shared_ptr<Module> module, World& world,
                           const DataParallelOptions& options)
    : module_(std::move(module)), world_(world), options_(completed(options, world)) {
  std::set<int> touched(options_.device_ids.begin(), options_.device_ids.end());
  touched.insert(options_.output_device);
  for (const int id : touched) devices_.push_back(&world.device(id));
  std::vector<const Device*> replica_devices;
  for (std::size_t i = 0; i < options_.device_ids.size(); ++i) {
    replica_names_.push_back(fmt::format("replica {}", i));
    replica_devices.push_back(&world.device(options_.device_ids[i]));
  }
  if (const std::string text = imbalance_warning(replica_devices); !text.empty()) warn(text);
  if (options_.device_ids.size() == 1) move_module(*module_, home());
}

DataParallel::~DataParallel() = default;

void DataParallel::warn(const std::string& text) {
  if (options_.warn && warned_.insert(text).second) options_.warn(text);
}

void DataParallel::check_module_is_home() const {
  for (const NamedTensor& entry : module_->state_dict()) {
    if (&entry.tensor.device() == &home()) continue;
    throw Error(ErrorKind::kTrainingFailed,
                fmt::format("module must have its parameters and buffers on device {} "
                            "(device_ids[0]) but found one of them on device {}: {}",
                            home().rank(), entry.tensor.device().rank(), entry.name),
                "build the module on the first of the device ids, or name its device first");
  }
}

const std::shared_ptr<DrivenGroup>& DataParallel::group_of(const std::vector<int>& world_ranks) {
  std::shared_ptr<DrivenGroup>& group = groups_[world_ranks];
  if (!group) group = std::make_shared<DrivenGroup>(world_, world_ranks);
  return group;
}

// ---------------------------------------------------------------- scatter

std::vector<std::int64_t> DataParallel::split(const Tensor& tensor) const {
  const auto dimensions = static_cast<int>(tensor.shape().rank());
  if (options_.dim < -dimensions || options_.dim >= dimensions) {
    throw Error(ErrorKind::kTrainingFailed,
                fmt::format("scatter: a tensor {} of shape {} cannot be cut along dimension {}: "
                            "chunk expects at least a {}-dimensional tensor",
                            tensor.name(), to_string(tensor.shape()), options_.dim,
                            options_.dim < 0 ? -options_.dim : options_.dim + 1),
                "every tensor among the arguments is cut, a lone one too");
  }
  const std::int64_t rows = tensor.shape()[options_.dim];
  const std::vector<std::int64_t>& asked = options_.chunk_sizes;
  if (asked.empty() || !module_->training()) {
    return chunk_sizes(rows, static_cast<int>(options_.device_ids.size()));
  }
  const std::int64_t sum = std::accumulate(asked.begin(), asked.end(), std::int64_t{0});
  const bool positive = std::all_of(asked.begin(), asked.end(), [](auto size) { return size > 0; });
  if (sum != rows || !positive || asked.size() > options_.device_ids.size()) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("chunk_sizes [{}] add up to {} for {} devices: the batch has {} rows along "
                    "dimension {}, and each device takes at most one chunk",
                    fmt::join(asked, ", "), sum, options_.device_ids.size(), rows, options_.dim),
        "give positive sizes that add up to the batch, at most one per device; drop the last "
        "short batch");
  }
  return asked;
}

std::vector<Tensor> DataParallel::scatter_tensor(const Tensor& tensor) {
  const std::vector<std::int64_t> sizes = split(tensor);
  std::vector<int> ranks(options_.device_ids.begin(),
                         options_.device_ids.begin() + static_cast<std::ptrdiff_t>(sizes.size()));
  const int source = tensor.device().rank();
  if (std::find(ranks.begin(), ranks.end(), source) == ranks.end()) ranks.push_back(source);
  const std::shared_ptr<DrivenGroup>& group = group_of(ranks);
  return group->scatter(tensor, counted_from_front(options_.dim, tensor), sizes,
                        group->member_of(source), MemoryKind::kInputs, std::string(tensor.name()));
}

std::vector<Arguments> DataParallel::scatter(const Arguments& arguments) {
  const StepScope phase(devices_, Phase::kScatterInput);
  return scatter_arguments(arguments, options_.device_ids.size(),
                           [this](const Tensor& tensor) { return scatter_tensor(tensor); });
}

// ---------------------------------------------------------------- replicate, apply, gather

std::vector<std::shared_ptr<Module>> DataParallel::replicate(std::size_t count) {
  if (count == 0 || count > options_.device_ids.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("replicate: {} copies for {} device ids: must be from 1 to {}", count,
                            options_.device_ids.size(), options_.device_ids.size()));
  }
  const StepScope phase(devices_, Phase::kReplicate);
  const std::shared_ptr<DrivenGroup>& group =
      group_of({options_.device_ids.begin(),
                options_.device_ids.begin() + static_cast<std::ptrdiff_t>(count)});
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

std::vector<Value> DataParallel::parallel_apply(
    const std::vector<std::shared_ptr<Module>>& replicas, const std::vector<Arguments>& calls,
    const Call& call) {
  check_calls(replicas, calls, options_.device_ids.size());
  const StepScope phase(devices_, Phase::kForward);
  std::vector<Value> outputs;
  std::exception_ptr first_error;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    Device& device = world_.device(options_.device_ids[i]);
    OpContext context = device.context();
    context.host_thread = replica_names_[i];
    const ContextScope thread(device, context);
    // The others are not stopped: in PyTorch they are threads, and it waits for all.
    const auto prefix = [&] {
      return fmt::format("in replica {} on device {}: ", i, device.rank());
    };
    try {
      outputs.push_back(call ? call(*replicas[i], calls[i]) : replicas[i]->call(calls[i]));
    } catch (const Error& error) {
      if (!first_error) first_error = std::make_exception_ptr(error.with_prefix(prefix()));
    } catch (const std::exception& error) {
      if (first_error) continue;
      first_error =
          std::make_exception_ptr(Error(ErrorKind::kTrainingFailed, prefix() + error.what()));
    }
  }
  if (first_error) std::rethrow_exception(first_error);
  return outputs;
}

Tensor DataParallel::gather_tensors(std::vector<Tensor> parts) {
  const bool all_scalars = std::all_of(parts.begin(), parts.end(),
                                       [](const Tensor& part) { return part.shape().rank() == 0; });
  if (all_scalars && options_.dim == 0) {
    warn(
        "Was asked to gather along dimension 0, but all input tensors were scalars; will instead "
        "unsqueeze and return a vector.");
    for (Tensor& part : parts) part = reshape(part, Shape{1});
  }
  for (const Tensor& part : parts) check_has_dimension(part, options_.dim);
  std::vector<int> ranks;
  for (const Tensor& part : parts) ranks.push_back(part.device().rank());
  if (std::set<int>(ranks.begin(), ranks.end()).size() != ranks.size()) {
    throw Error(ErrorKind::kTrainingFailed,
                fmt::format("gather: the replicas' tensors lie on devices {}: each must return one "
                            "on its own device",
                            fmt::join(ranks, ", ")));
  }
  const int root = options_.output_device;
  if (std::find(ranks.begin(), ranks.end(), root) == ranks.end()) ranks.push_back(root);
  const std::shared_ptr<DrivenGroup>& group = group_of(ranks);
  return gather_outputs(parts, counted_from_front(options_.dim, parts.front()), group,
                        group->member_of(root));
}

Value DataParallel::gather(const std::vector<Value>& outputs) {
  if (outputs.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "gather: there are no outputs, must be at least one");
  }
  const StepScope phase(devices_, Phase::kGatherOutput);
  return gather_values(
      outputs, [this](std::vector<Tensor> parts) { return gather_tensors(std::move(parts)); });
}

Value DataParallel::forward(const Arguments& arguments, const Call& call) {
  check_module_is_home();
  std::vector<Arguments> calls = scatter(arguments);
  if (calls.empty()) calls.emplace_back();
  // However many chunks there are: it is the number of device ids that counts.
  if (options_.device_ids.size() == 1) {
    const StepScope phase(devices_, Phase::kForward);
    return call ? call(*module_, calls.front()) : module_->call(calls.front());
  }
  return gather(parallel_apply(replicate(calls.size()), calls, call));
}

Tensor DataParallel::moved(const Tensor& tensor, Device& device) {
  if (&tensor.device() == &device) return tensor;
  DrivenGroup& pair = *group_of({tensor.device().rank(), device.rank()});
  Tensor copy =
      Tensor::empty(device, tensor.shape(), tensor.dtype(), MemoryKind::kInputs, tensor.name());
  const auto count = static_cast<std::size_t>(tensor.numel());
  pair.collective([&](int member, Communicator& communicator, Stream& stream) {
    return member == 0 ? communicator.send(tensor.array(), count, 1, stream)
                       : communicator.recv(copy.array(), count, 0, stream);
  });
  return copy;
}

}  // namespace ringside
