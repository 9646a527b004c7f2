// torch.nn.DataParallel: a wrapper that runs a module on several devices, in one thread of one
// process.
//
// Every forward scatters its arguments, copies the module to the devices that got some, runs the
// copies and gathers what they return. The copies live for one forward: what a module writes to
// itself is lost with them, but for the buffers of the first, which are the module's own.
// [torch/nn/parallel/data_parallel.py, scatter_gather.py, replicate.py, parallel_apply.py, 1.13]
//
// Threads: the one that drives the world (World::drive). Of that thread the copies' forwards are
// recorded as if each had one of its own ("replica 0").
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ringside/nn.h"
#include "ringside/schedule.h"
#include "ringside/value.h"
#include "ringside/world.h"

namespace ringside {

class DrivenGroup;

struct DataParallelOptions {
  /// empty = all devices of the world; the first one is home: it holds the module
  std::vector<int> device_ids;
  int output_device = -1;  ///< where outputs are gathered; -1 = device_ids[0]
  int dim = 0;             ///< dimension that is split and joined; -1 = the last of each tensor
  /// of every tensor argument, while not in evaluation: empty = torch.chunk's (ceil(B/n)); else
  /// must be positive and add up to the tensor's size along dim. PyTorch's scatter takes them, its
  /// DataParallel never gives any.
  std::vector<std::int64_t> chunk_sizes;
  /// of broadcast and reduce; automatic = star (device copies from and to home)
  Algorithm algorithm = Algorithm::kAutomatic;
  /// PyTorch's warnings, each text once; may be empty
  std::function<void(const std::string&)> warn;
};

class DataParallel {
 public:
  /// Warns of devices of which one has less than 75 % of another's memory. With one device id the
  /// module is moved there; with several it stays where it is. Throws Error(kInvalidArgument) for
  /// repeated or unknown device ids.
  DataParallel(std::shared_ptr<Module> module, World& world, const DataParallelOptions& options);
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// What the wrapped module does with its arguments, where that is not Module::call.
  using Call = std::function<Value(Module& module, const Arguments& arguments)>;
  /// Throws Error(kTrainingFailed): a parameter or buffer that is not on device_ids[0]; "in replica
  /// 1 on device 1: " and the first error of a replica, after all have run; outputs that cannot be
  /// joined.
  Value forward(const Arguments& arguments, const Call& call = {});

  // The steps of forward, as PyTorch's DataParallel has them.

  /// The arguments of each replica: tensors are cut along dim, containers taken apart, the rest
  /// goes to all. The shortest part of a container decides how many there are; positional and
  /// keyword arguments are cut apart from each other, and the shorter list is padded with nothing.
  std::vector<Arguments> scatter(const Arguments& arguments);
  /// Copies of the module on the first `count` device ids; the first shares the module's tensors.
  /// Throws Error(kInvalidArgument) for none, or more than there are device ids.
  std::vector<std::shared_ptr<Module>> replicate(std::size_t count);
  /// Every replica's forward, each with its own call. Throws Error(kInvalidArgument) for another
  /// number of calls than replicas or more than there are device ids; after all have run, the first
  /// error of a replica.
  std::vector<Value> parallel_apply(const std::vector<std::shared_ptr<Module>>& replicas,
                                    const std::vector<Arguments>& calls, const Call& call = {});
  /// Tensors are joined along dim on the output device; None stays None, containers are joined
  /// item by item. Tensors without dimensions become a vector, with PyTorch's warning. Throws
  /// Error(kInvalidArgument) for no outputs, Error(kTrainingFailed) for those that cannot be
  /// joined.
  Value gather(const std::vector<Value>& outputs);

  Module& module() const { return *module_; }
  /// With the prefix "module.".
  std::vector<NamedTensor> state_dict() const { return module_->state_dict("module."); }
  const DataParallelOptions& options() const { return options_; }
  Device& home() const { return world_.device(options_.device_ids.front()); }
  Device& output_device() const { return world_.device(options_.output_device); }
  /// Every one that a forward can touch.
  const std::vector<Device*>& devices() const { return devices_; }

  /// `tensor` on `device`: a message if it lies on another one. Not differentiable.
  Tensor moved(const Tensor& tensor, Device& device);

 private:
  std::vector<Tensor> scatter_tensor(const Tensor& tensor);
  Tensor gather_tensors(std::vector<Tensor> parts);
  std::vector<std::int64_t> split(const Tensor& tensor) const;
  void check_module_is_home() const;
  const std::shared_ptr<DrivenGroup>& group_of(const std::vector<int>& world_ranks);
  void warn(const std::string& text);

  std::shared_ptr<Module> module_;
  World& world_;
  DataParallelOptions options_;
  std::vector<Device*> devices_;
  std::vector<std::string> replica_names_;  // borrowed by OpContext::host_thread
  std::map<std::vector<int>, std::shared_ptr<DrivenGroup>> groups_;
  std::set<std::string> warned_;
};

}  // namespace ringside
