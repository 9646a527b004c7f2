// Training with torch.nn.DataParallel, as its users write it: forward through the wrapper, loss on
// the output device, backward, update at home.
//
// A step: scatter-input, replicate, forward, gather-output, loss, scatter-grad, backward,
// reduce-grad, update. Gradients are summed, not averaged: a mean loss over the gathered output
// already holds the 1/B. Nothing is sent after the update; the next forward replicates, that of an
// evaluation too.
#include <algorithm>
#include <utility>

#include "parallel/step_scope.h"
#include "parallel/wrapper_prefix.h"
#include "ringside/error.h"
#include "ringside/strategy.h"

namespace ringside {
namespace {

constexpr const char* kFlag = "flag";

/// A module whose forward has a keyword that is no tensor, and does nothing with it.
Value call_with_flag(Module& module, const Arguments& arguments) {
  Arguments known = arguments;
  std::erase_if(known.keywords, [](const NamedValue& keyword) { return keyword.first == kFlag; });
  return module.call(known);
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
  Tensor forward(const Tensor& inputs, const StepDirectives& directives);
  Tensor loss_of(const Batch& batch, const StepDirectives& directives);
  Tensor loss_in_forward(const Batch& batch);
  void update(const StepDirectives& directives);

  DataParallel wrapper_;
  DataParallelTrainingOptions training_;
  std::unique_ptr<Optimizer> optimizer_;
};

Tensor DataParallelTraining::forward(const Tensor& inputs, const StepDirectives& directives) {
  Arguments arguments{{inputs}, {}};
  if (!directives.flag_keyword) return wrapper_.forward(arguments).get<Tensor>();
  arguments.keywords.emplace_back(kFlag, true);
  return wrapper_.forward(arguments, call_with_flag).get<Tensor>();
}

/// The module returns its own mean loss, a number without dimensions; the script makes one of them.
Tensor DataParallelTraining::loss_in_forward(const Batch& batch) {
  const Value gathered = wrapper_.forward(
      {{batch.inputs, batch.targets}, {}}, [this](Module& module, const Arguments& arguments) {
        const Tensor output = module.forward(arguments.positional[0].get<Tensor>());
        return Value(
            reshape(training_.loss(output, arguments.positional[1].get<Tensor>()), Shape{}));
      });
  const StepScope phase(devices(), Phase::kLoss);
  const auto& losses = gathered.get<Tensor>();
  const Tensor total = sum(losses);
  return training_.gathered_losses == LossReduction::kSum
             ? total
             : scale(total, 1.0 / static_cast<double>(losses.numel()));
}

Tensor DataParallelTraining::loss_of(const Batch& batch, const StepDirectives& directives) {
  if (training_.loss_in == LossPlace::kForward && !directives.bypass) return loss_in_forward(batch);
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
  for (Device* device : devices()) device->context().grad_enabled = false;
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
