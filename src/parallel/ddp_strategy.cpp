// DistributedDataParallel as a strategy: zero_grad, forward, loss, backward with the buckets'
// all-reduces overlapping it, update on every rank.
#include <utility>

#include "parallel/rehearsal.h"
#include "parallel/step_scope.h"
#include "parallel/wrapper_prefix.h"
#include "ringside/ddp.h"
#include "ringside/strategy.h"

namespace ringside {
namespace {

/// While it lives, zeros take the place of the gradient of some parameters as soon as it is there:
/// what a hook does that the user has registered behind DDP's.
class ReplacedGradients {
 public:
  ReplacedGradients(const Module& module, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      parameters_.push_back(parameter_named(module, name));
      parameters_.back().add_accumulate_hook(this, [](Tensor& parameter) {
        parameter.set_grad(Tensor::full(parameter.device(), parameter.shape(), parameter.dtype(), 0,
                                        MemoryKind::kGradients, parameter.name()));
      });
    }
  }
  ~ReplacedGradients() {
    for (Tensor& parameter : parameters_) parameter.remove_accumulate_hooks(this);
  }
  ReplacedGradients(const ReplacedGradients&) = delete;
  ReplacedGradients& operator=(const ReplacedGradients&) = delete;

 private:
  std::vector<Tensor> parameters_;
};

class DdpStrategy : public Strategy {
 public:
  DdpStrategy(std::shared_ptr<Module> module, Rank& rank, const DdpOptions& options)
      : options_(options), ddp_(std::move(module), rank, options), devices_{&rank.device} {
    optimizer_ = options.optimizer(ddp_.module().named_parameters(std::string(kWrapperPrefix)));
  }

  std::string_view name() const override { return "ddp"; }
  StepResult train_step(const Batch& batch, int step, const StepDirectives& directives) override;
  Tensor evaluate(const Batch& batch) override;
  void check_step() const override { ddp_.check_reduced(); }
  int inputs_exhausted(int step) override;
  Device& input_device() override { return *devices_.front(); }
  std::vector<NamedTensor> state_dict() const override {
    return ddp_.module().state_dict(std::string(kWrapperPrefix));
  }
  std::string_view key_prefix() const override { return kWrapperPrefix; }
  Module& module() override { return ddp_.module(); }
  Optimizer& optimizer() override { return *optimizer_; }
  std::vector<TraceRun::Bucket> buckets() const override { return ddp_.buckets(); }
  BucketNames next_buckets() const override { return ddp_.next_buckets(); }
  void restore_buckets(const BucketNames& buckets) override { ddp_.restore_buckets(buckets); }

 private:
  /// What the step does through the wrapper before its own forward.
  void prepare(const Batch& batch, const StepDirectives& directives);
  Tensor forward(const Tensor& inputs, const StepDirectives& directives);
  Tensor loss_of(const Tensor& output, const Tensor& targets);
  Tensor sum_of(const Tensor& loss, const Tensor& second);
  void backward(const Tensor& loss, const StepDirectives& directives);

  DdpOptions options_;
  DistributedDataParallel ddp_;
  std::vector<Device*> devices_;
  std::unique_ptr<Optimizer> optimizer_;
  bool joining_ = false;
  bool keep_gradients_ = false;  // the last step made no update
};

Tensor DdpStrategy::forward(const Tensor& inputs, const StepDirectives& directives) {
  const StepScope phase(devices_, Phase::kForward);
  if (directives.bypass) return ddp_.module().forward(inputs);
  if (!directives.no_sync) return ddp_.forward(inputs);
  const DistributedDataParallel::NoSync no_sync(ddp_);
  return ddp_.forward(inputs);
}

Tensor DdpStrategy::loss_of(const Tensor& output, const Tensor& targets) {
  const StepScope phase(devices_, Phase::kLoss);
  return options_.loss(output, targets);
}

Tensor DdpStrategy::sum_of(const Tensor& loss, const Tensor& second) {
  const StepScope phase(devices_, Phase::kLoss);
  return add(loss, second);
}

void DdpStrategy::backward(const Tensor& loss, const StepDirectives& directives) {
  const Tensor root = [&] {
    const StepScope phase(devices_, Phase::kLoss);
    return directives.loss_factor == 1 ? loss : scale(loss, directives.loss_factor);
  }();
  const StepScope phase(devices_, Phase::kBackward);
  const ReplacedGradients replaced(ddp_.module(), directives.replaced_gradients);
  if (!directives.no_sync && !directives.no_sync_backward) return ddp_.backward(root);
  const DistributedDataParallel::NoSync no_sync(ddp_);
  ddp_.backward(root);
}

void DdpStrategy::prepare(const Batch& batch, const StepDirectives& directives) {
  if (directives.register_hook) {
    ddp_.register_communication_hook(all_reduce_hook(options_.algorithm));
  }
  for (int i = 0; i < directives.no_grad_forwards; ++i) {
    const StepScope phase(devices_, Phase::kForward);
    const NoGradScope no_grad(*devices_.front());
    ddp_.forward(batch.inputs);
  }
  for (int i = 0; i < directives.extra_forwards; ++i) {
    StepDirectives through_wrapper = directives;
    through_wrapper.bypass = false;
    forward(batch.inputs, through_wrapper);
  }
}

StepResult DdpStrategy::train_step(const Batch& batch, int step, const StepDirectives& directives) {
  const StepScope scope(devices_, step, Phase::kForward);
  ddp_.module().train();
  if (options_.join && !std::exchange(joining_, true)) ddp_.begin_join(*options_.join);
  if (!keep_gradients_) optimizer_->zero_grad(options_.set_to_none);
  prepare(batch, directives);
  const Tensor loss = loss_of(forward(batch.inputs, directives), batch.targets);
  if (directives.second_backward || directives.summed_losses) {
    const Tensor second = loss_of(forward(batch.inputs, directives), batch.targets);
    backward(directives.summed_losses ? sum_of(loss, second) : loss, directives);
    if (directives.second_backward) backward(second, directives);
  } else {
    backward(loss, directives);
  }
  keep_gradients_ = directives.no_sync || directives.accumulate;
  if (!keep_gradients_) {
    const StepScope phase(devices_, Phase::kUpdate);
    optimizer_->step();
  }
  return {loss.detach(), batch.rows()};
}

Tensor DdpStrategy::evaluate(const Batch& batch) {
  const StepScope phase(devices_, Phase::kEvaluate);
  const NoGradScope no_grad(*devices_.front());
  ddp_.module().train(false);
  return ddp_.module().forward(batch.inputs);
}

int DdpStrategy::inputs_exhausted(int step) {
  if (!options_.join) return 0;
  if (!std::exchange(joining_, false)) ddp_.begin_join(*options_.join);  // it had no batch at all
  const StepScope scope(devices_, step, Phase::kSyncBuffers);
  return ddp_.end_join([&](int shadowed) { devices_.front()->context().step = step + shadowed; });
}

}  // namespace

std::unique_ptr<Strategy> make_ddp(std::shared_ptr<Module> module, Rank& rank,
                                   const DdpOptions& options) {
  return std::make_unique<DdpStrategy>(std::move(module), rank, options);
}

}  // namespace ringside
