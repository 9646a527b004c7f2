// torch.nn.parallel.DistributedDataParallel: one thread (or process) per rank, every rank a full
// replica.
//
// Construction: parameters verified, then parameters and buffers broadcast from rank 0. A step:
// sync-buffers, forward, loss, backward with the buckets' all-reduces overlapping it, finalize,
// update on every rank. [torch/nn/parallel/distributed.py, 1.13]
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parallel/exchange.h"
#include "parallel/reducer.h"
#include "parallel/step_scope.h"
#include "parallel/tensors_of.h"
#include "ringside/error.h"
#include "ringside/strategy.h"

namespace ringside {
namespace {

std::vector<NamedTensor> requiring_grad(const Module& module) {
  std::vector<NamedTensor> parameters = module.named_parameters();
  std::erase_if(parameters, [](const NamedTensor& entry) { return !entry.tensor.requires_grad(); });
  if (parameters.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient");
  }
  return parameters;
}

/// Each shape as its rank and sizes, padded: what rank 0 tells the others.
std::vector<std::int64_t> describe_shapes(const std::vector<NamedTensor>& parameters) {
  std::vector<std::int64_t> described;
  for (const NamedTensor& entry : parameters) {
    const std::span<const std::int64_t> sizes = entry.tensor.shape().sizes();
    described.push_back(static_cast<std::int64_t>(sizes.size()));
    described.insert(described.end(), sizes.begin(), sizes.end());
    described.resize(described.size() + Shape::kMaxRank - sizes.size(), 0);
  }
  return described;
}

/// All ranks must have the same parameters. [reducer.cpp, verify_params_across_processes]
void verify_parameters(Rank& rank, const std::vector<NamedTensor>& parameters) {
  const auto own_count = static_cast<std::int64_t>(parameters.size());
  const std::vector<std::int64_t> counts = value_of_all(rank, own_count);
  for (std::size_t other = 0; other < counts.size(); ++other) {
    if (counts[other] == own_count) continue;
    throw Error(ErrorKind::kCommMismatch,
                fmt::format("DDP expects same model across all ranks, but Rank {} has {} params, "
                            "while rank {} has inconsistent {} params",
                            rank.rank, own_count, other, counts[other]),
                "build the same model on every rank");
  }
  const std::vector<std::int64_t> own = describe_shapes(parameters);
  const std::vector<std::int64_t> root = list_of_root(rank, own);
  constexpr std::size_t kStride = Shape::kMaxRank + 1;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto begin = root.begin() + static_cast<std::ptrdiff_t>(i * kStride);
    if (std::equal(begin, begin + kStride,
                   own.begin() + static_cast<std::ptrdiff_t>(i * kStride))) {
      continue;
    }
    const Shape theirs(
        std::span<const std::int64_t>(&*begin + 1, static_cast<std::size_t>(*begin)));
    throw Error(ErrorKind::kCommMismatch,
                fmt::format("[{}]: params[{}] ({}) in this process with sizes [{}] appears not to "
                            "match sizes of the same param in process 0: [{}]",
                            rank.rank, i, parameters[i].name,
                            to_string(parameters[i].tensor.shape()), to_string(theirs)),
                "build the same model on every rank");
  }
}

class DistributedDataParallel : public Strategy {
 public:
  DistributedDataParallel(std::shared_ptr<Module> module, Rank& rank, const DdpOptions& options)
      : module_(std::move(module)), rank_(rank), devices_{&rank_.device}, options_(options) {
    const std::vector<NamedTensor> parameters = requiring_grad(*module_);
    optimizer_ = options.optimizer(module_->named_parameters("module."));
    verify_parameters(rank_, parameters);
    broadcast_from_root(rank_, tensors_of(module_->named_parameters()), kInitialSyncBytes);
    buffers_ = tensors_of(module_->named_buffers());
    broadcast_from_root(rank_, buffers_, kInitialSyncBytes);
    reducer_ = std::make_unique<Reducer>(parameters, rank_, options_);
  }

  std::string_view name() const override { return "ddp"; }
  StepResult train_step(const Batch& batch, int step, const StepDirectives& directives) override;
  Tensor evaluate(const Batch& batch) override;
  Device& input_device() override { return rank_.device; }
  std::vector<NamedTensor> state_dict() const override { return module_->state_dict("module."); }
  Module& module() override { return *module_; }
  Optimizer& optimizer() override { return *optimizer_; }
  std::vector<TraceRun::Bucket> buckets() const override { return reducer_->buckets(); }
  BucketNames next_buckets() const override { return reducer_->next_buckets(); }
  void restore_buckets(const BucketNames& buckets) override { reducer_->restore_buckets(buckets); }

 private:
  Tensor forward(const Tensor& inputs, bool synchronise);
  void sync_buffers(bool synchronise);

  std::shared_ptr<Module> module_;
  Rank rank_;
  std::vector<Device*> devices_;
  DdpOptions options_;
  std::vector<Tensor> buffers_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Reducer> reducer_;
  bool require_forward_param_sync_ = true;
  bool keep_gradients_ = false;  // the last step ran inside no_sync
};

/// Rank 0's buffers overwrite the others' at the start of forward. The flag is set by a forward
/// that will synchronise gradients, and cleared by one that will not: so the first forward inside
/// no_sync still broadcasts.
void DistributedDataParallel::sync_buffers(bool synchronise) {
  if (options_.broadcast_buffers && require_forward_param_sync_) {
    const StepScope phase(devices_, Phase::kSyncBuffers);
    broadcast_from_root(rank_, buffers_, kInitialSyncBytes);
  }
  require_forward_param_sync_ = synchronise;
}

Tensor DistributedDataParallel::forward(const Tensor& inputs, bool synchronise) {
  if (synchronise) {
    reducer_->prepare();
  } else {
    reducer_->disarm();
  }
  sync_buffers(synchronise);
  const StepScope phase(devices_, Phase::kForward);
  return module_->forward(inputs);
}

StepResult DistributedDataParallel::train_step(const Batch& batch, int step,
                                               const StepDirectives& directives) {
  const StepScope scope(devices_, step, Phase::kForward);
  module_->train();
  if (!keep_gradients_) optimizer_->zero_grad();
  const bool synchronise = !directives.no_sync;
  for (int i = 0; i < directives.extra_forwards; ++i) forward(batch.inputs, synchronise);
  Tensor output;
  if (directives.bypass) {
    reducer_->disarm();
    output = module_->forward(batch.inputs);
  } else {
    output = forward(batch.inputs, synchronise);
  }
  const Tensor loss = [&] {
    const StepScope phase(devices_, Phase::kLoss);
    return options_.loss(output, batch.targets);
  }();
  {
    const StepScope phase(devices_, Phase::kBackward);
    backward(loss, {}, [this] { reducer_->finish(); });
  }
  keep_gradients_ = directives.no_sync;
  if (!directives.no_sync) {
    const StepScope phase(devices_, Phase::kUpdate);
    optimizer_->step();
  }
  return {loss.detach(), batch.rows()};
}

Tensor DistributedDataParallel::evaluate(const Batch& batch) {
  const StepScope phase(devices_, Phase::kEvaluate);
  const NoGradScope no_grad(rank_.device);
  module_->train(false);
  return module_->forward(batch.inputs);
}

}  // namespace

std::unique_ptr<Strategy> make_ddp(std::shared_ptr<Module> module, Rank& rank,
                                   const DdpOptions& options) {
  return std::make_unique<DistributedDataParallel>(std::move(module), rank, options);
}

}  // namespace ringside
