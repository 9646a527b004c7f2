// Training with torch.nn.DataParallel, as its users write it: forward through the wrapper, loss on
// the output device, backward, update at home.
//
// A step: scatter-input, replicate, forward, gather-output, loss, scatter-grad, backward,
// reduce-grad, update. Gradients are summed, not averaged: a mean loss over the gathered output
// already holds the 1/B. Nothing is sent after the update; the next forward replicates, that of an
// evaluation too.
#include <algorithm>
#include <deque>
#include <utility>

#include "parallel/step_scope.h"
#include "parallel/wrapper_prefix.h"
#include "ringside/error.h"
#include "ringside/strategy.h"

namespace ringside {
namespace {

constexpr const char* kFlag = "flag";

/// What a module's forward knows that has a keyword for a flag, and does nothing with it.
Arguments without_flag(Arguments arguments) {
  std::erase_if(arguments.keywords,
                [](const NamedValue& keyword) { return keyword.first == kFlag; });
  return arguments;
}

Value call_without_flag(Module& module, const Arguments& arguments) {
  return module.call(without_flag(arguments));
}

class DataParallelTraining : public Strategy {
 public:
  DataParallelTraining(std::shared_ptr<Module> module, World& world,
                       const DataParallelOptions& options,
                       const DataParallelTrainingOptions& training)
      : wrapper_(std::move(module), world, options),
        training_(training),
        optimizer_(
            training.optimizer(wrapper_.module().named_parameters(std::string(kWrapperPrefix)))) {}

  std::string_view name() const override { return "dp"; }
  StepResult train_step(const Batch& batch, int step, const StepDirectives& directives) override;
  Tensor evaluate(const Batch& batch) override;
  Device& input_device() override { return wrapper_.home(); }
  std::vector<NamedTensor> state_dict() const override { return wrapper_.state_dict(); }
  std::string_view key_prefix() const override { return kWrapperPrefix; }
  Module& module() override { return wrapper_.module(); }
  Optimizer& optimizer() override { return *optimizer_; }

 private:
  const std::vector<Device*>& devices() const { return wrapper_.devices(); }
  static Arguments arguments_of(std::vector<Value> positional, const StepDirectives& directives);
  Tensor forward(const Tensor& inputs, const StepDirectives& directives);
  Tensor loss_of(const Batch& batch, const StepDirectives& directives);
  Value own_loss(Module& module, const Arguments& arguments) const;
  Tensor loss_in_forward(const Batch& batch, const StepDirectives& directives);
  void update(const StepDirectives& directives);

  DataParallel wrapper_;
  DataParallelTrainingOptions training_;
  std::unique_ptr<Optimizer> optimizer_;
};

Arguments DataParallelTraining::arguments_of(std::vector<Value> positional,
                                             const StepDirectives& directives) {
  Arguments arguments{std::move(positional), {}};
  if (directives.flag_keyword) arguments.keywords.emplace_back(kFlag, true);
  return arguments;
}

Tensor DataParallelTraining::forward(const Tensor& inputs, const StepDirectives& directives) {
  return wrapper_.forward(arguments_of({inputs}, directives), call_without_flag).get<Tensor>();
}

/// forward(input, target) of a module that returns its own mean loss, without dimensions.
Value DataParallelTraining::own_loss(Module& module, const Arguments& arguments) const {
  if (arguments.positional.empty()) {
    throw Error(ErrorKind::kTrainingFailed,
                "forward() missing 2 required positional arguments: 'input' and 'target'",
                "a replica without rows is called with what goes to all");
  }
  const Tensor output = module.forward(arguments.positional[0].get<Tensor>());
  return reshape(training_.loss(output, arguments.positional[1].get<Tensor>()), Shape{});
}

/// The script makes one loss of those that the replicas return.
Tensor DataParallelTraining::loss_in_forward(const Batch& batch, const StepDirectives& directives) {
  const Value gathered = wrapper_.forward(
      arguments_of({batch.inputs, batch.targets}, directives),
      [this](Module& module, const Arguments& arguments) { return own_loss(module, arguments); });
  const StepScope phase(devices(), Phase::kLoss);
  const auto& losses = gathered.get<Tensor>();
  const Tensor total = sum(losses);
  return training_.gathered_losses == LossReduction::kSum
             ? total
             : scale(total, 1.0 / static_cast<double>(losses.numel()));
}

Tensor DataParallelTraining::loss_of(const Batch& batch, const StepDirectives& directives) {
  if (training_.loss_in == LossPlace::kForward && !directives.bypass) {
    return loss_in_forward(batch, directives);
  }
  // To the bare module a flag is nothing: it has no replica without rows.
  const Tensor output = directives.bypass ? wrapper_.module().forward(batch.inputs)
                                          : forward(batch.inputs, directives);
  const StepScope phase(devices(), Phase::kLoss);
  // The script moves the targets to where the output is (target.to(output.device)).
  return training_.loss(output, wrapper_.moved(batch.targets, output.device()));
}

void DataParallelTraining::update(const StepDirectives& directives) {
  const StepScope phase(devices(), Phase::kUpdate);
  if (directives.wrapped_optimizer) {
    throw Error(ErrorKind::kTrainingFailed, "'DataParallel' object has no attribute 'step'",
                "the optimiser needs no wrapping: its parameters are the module's own, on "
                "device_ids[0]");
  }
  optimizer_->step();
}

StepResult DataParallelTraining::train_step(const Batch& batch, int step,
                                            const StepDirectives& directives) {
  const StepScope scope(devices(), step, Phase::kForward);
  wrapper_.module().train();
  // DataParallel(optimizer) has a zero_grad of its own: that of a module without parameters.
  if (!directives.wrapped_optimizer) optimizer_->zero_grad();
  for (int i = 0; i < directives.extra_forwards; ++i) forward(batch.inputs, directives);
  const Tensor loss = loss_of(batch, directives);
  {
    const StepScope phase(devices(), Phase::kBackward);
    backward(loss);
  }
  update(directives);
  return {loss.detach(), batch.rows()};
}

Tensor DataParallelTraining::evaluate(const Batch& batch) {
  const StepScope phase(devices(), Phase::kEvaluate);
  std::deque<NoGradScope> no_grad;
  for (Device* device : devices()) no_grad.emplace_back(*device);
  wrapper_.module().train(false);
  return forward(batch.inputs, {});
}

}  // namespace

std::unique_ptr<Strategy> make_data_parallel(std::shared_ptr<Module> module, World& world,
                                             const DataParallelOptions& options,
                                             const DataParallelTrainingOptions& training) {
  return std::make_unique<DataParallelTraining>(std::move(module), world, options, training);
}

}  // namespace ringside
