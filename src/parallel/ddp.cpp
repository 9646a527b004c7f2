// The wrapper: construction, forward, backward. [torch/nn/parallel/distributed.py, 1.13]
#include "ringside/ddp.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parallel/coalesce.h"
#include "parallel/ddp_checks.h"
#include "parallel/exchange.h"
#include "parallel/reducer.h"
#include "parallel/step_scope.h"
#include "parallel/tensors_of.h"
#include "ringside/error.h"

namespace ringside {

DistributedDataParallel::DistributedDataParallel(std::shared_ptr<Module> module, Rank& rank,
                                                 const DdpWrapperOptions& options)
    : module_(std::move(module)), rank_(rank), options_(options) {
  wrapped_ = parameters_to_reduce(*module_);
  check_device_ids(options_.device_ids, rank_);
  verify_parameters(rank_, wrapped_);
  broadcast_from(0, rank_, tensors_of(module_->named_parameters()), kInitialSyncBytes);
  buffers_ = tensors_of(module_->named_buffers());
  broadcast_from(0, rank_, buffers_, kInitialSyncBytes);
  reducer_ = std::make_unique<Reducer>(wrapped_, rank_, options_);
  if (options_.static_graph && options_.find_unused_parameters) {
    warn(
        "You passed find_unused_parameters=true to DistributedDataParallel, `_set_static_graph` "
        "will detect unused parameters automatically, so you do not need to set "
        "find_unused_parameters=true, just be sure these unused parameters will not change during "
        "training loop while calling `_set_static_graph`.");
  }
}

DistributedDataParallel::~DistributedDataParallel() = default;

int convert_sync_batchnorm(Module& module, const Rank& rank) {
  return module.synchronise_batch_norm(exchange_between_ranks(rank));
}

void DistributedDataParallel::register_communication_hook(CommunicationHook hook) {
  reducer_->set_hook(std::move(hook));
  if (reducer_->has_run()) {
    warn(
        "register_comm_hook was called after a backward: DDP communication hook should be "
        "registered "
        "before calling backward, and what was reduced so far was reduced without it");
  }
}

/// The flag is set by a forward that will synchronise gradients, and cleared by one that will not:
/// so the first forward inside no_sync still broadcasts.
bool DistributedDataParallel::sends_buffers() const {
  return require_forward_param_sync_ && options_.broadcast_buffers && !buffers_.empty();
}

Tensor DistributedDataParallel::forward(const Tensor& input) {
  const bool grad_enabled = rank_.device.context().grad_enabled;
  const bool synchronises = grad_enabled && synchronise_;
  if (join_) notify_join();
  if (grad_enabled) {
    check_reduced();
    reducer_->prepare_forward();
  }
  if (sends_buffers()) sync_buffers(/*has_batch=*/true);
  if (join_) sum_of_all(rank_, {synchronises ? 1.0 : 0.0});
  Tensor output = module_->forward(input);
  require_forward_param_sync_ = synchronises;
  if (!synchronises) return output;
  reducer_->prepare_backward(output);
  if (reducer_->found_all_used() && !std::exchange(warned_of_walk_, true)) {
    warn(
        "find_unused_parameters=True was specified in DDP constructor, but did not find any unused "
        "parameters in the forward pass. This flag results in an extra traversal of the autograd "
        "graph every iteration; leave it out if the model never has any");
  }
  return output;
}

void DistributedDataParallel::check_reduced() const {
  try {
    reducer_->check_finished();
  } catch (const Error& error) {
    throw explain_changed(error);
  }
}

void DistributedDataParallel::backward(const Tensor& loss) {
  ringside::backward(loss, {}, [this] { reducer_->finish(); });
}

void DistributedDataParallel::warn(const std::string& text) const {
  if (options_.warn) options_.warn(text);
}

/// A parameter that was replaced or frozen after wrapping never gets a gradient again; which one,
/// PyTorch does not say.
Error DistributedDataParallel::explain_changed(const Error& error) const {
  const std::vector<NamedTensor> now = module_->named_parameters();
  for (const NamedTensor& known : wrapped_) {
    const bool is_there = std::any_of(now.begin(), now.end(), [&](const NamedTensor& entry) {
      return entry.tensor.same(known.tensor);
    });
    if (!is_there) {
      return {error.kind(),
              fmt::format("{}. '{}' was replaced after wrapping: the reducer's hook is on the old "
                          "tensor, and nobody reduces the new one",
                          error.what(), known.name),
              "change parameters before wrapping, or copy values into them"};
    }
    if (!known.tensor.requires_grad()) {
      return {error.kind(),
              fmt::format("{}. '{}' was frozen after wrapping: the reducer still waits for its "
                          "gradient",
                          error.what(), known.name),
              "freeze parameters before wrapping (--frozen)"};
    }
  }
  return error;
}

std::vector<TraceRun::Bucket> DistributedDataParallel::buckets() const {
  return reducer_->buckets();
}

BucketNames DistributedDataParallel::next_buckets() const { return reducer_->next_buckets(); }

void DistributedDataParallel::restore_buckets(const BucketNames& buckets) {
  reducer_->restore_buckets(buckets);
}

}  // namespace ringside
