// Training with torch.nn.DataParallel, as its users write it: forward through the wrapper, loss on
// the output device, backward, update at home.
//
// A step: scatter-input, replicate, forward, gather-output, loss, scatter-grad, backward,
// reduce-grad, update. Gradients are summed, not averaged: a mean loss over the gathered output
// already holds the 1/B. Nothing is sent after the update; the next forward replicates, that of an
// evaluation too.
#include <fmt/format.h>

#include <deque>
#include <utility>

#include "parallel/call_forms.h"
#include "parallel/step_scope.h"
#include "parallel/wrapper_prefix.h"
#include "ringside/error.h"
#include "ringside/strategy.h"

namespace ringside {
namespace {

constexpr const char* kInput = "input";
constexpr const char* kTarget = "target";
constexpr const char* kFlag = "flag";
constexpr const char* kExtra = "extra";

Tensor extra_rows(std::int64_t rows, Device& device) {
  return Tensor::full(device, Shape{rows}, DType::kFloat32, 0, MemoryKind::kInputs, kExtra);
}

/// forward(..., *, extra): without a default.
void check_extra(const Arguments& arguments) {
  for (const NamedValue& keyword : arguments.keywords) {
    if (keyword.first == kExtra) return;
  }
  throw Error(ErrorKind::kTrainingFailed,
              fmt::format("forward() missing 1 required keyword-only argument: '{}'", kExtra),
              "a keyword tensor is cut by itself: give it as many rows as the batch");
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
  Arguments arguments_of(std::vector<NamedValue> inputs, const StepDirectives& directives);
  Value call(Module& module, const Arguments& arguments, const StepDirectives& directives);
  Value own_loss(Module& module, const Arguments& arguments,
                 const StepDirectives& directives) const;
  Tensor forward(const Tensor& inputs, const StepDirectives& directives);
  Tensor loss_of(const Batch& batch, const StepDirectives& directives);
  Tensor loss_in_forward(const Batch& batch, const StepDirectives& directives);
  void update(const StepDirectives& directives);

  DataParallel wrapper_;
  DataParallelTrainingOptions training_;
  std::unique_ptr<Optimizer> optimizer_;
  std::int64_t columns_ = 1;  // of the module's output
};

Arguments DataParallelTraining::arguments_of(std::vector<NamedValue> inputs,
                                             const StepDirectives& directives) {
  if (directives.no_arguments) return {};
  Arguments arguments = pack_inputs(training_.input_form, std::move(inputs));
  if (directives.second_rows > 0) {
    arguments.positional.emplace_back(extra_rows(directives.second_rows, input_device()));
  }
  if (directives.keyword_rows > 0) {
    arguments.keywords.emplace_back(kExtra, extra_rows(directives.keyword_rows, input_device()));
  }
  if (directives.flag_keyword) arguments.keywords.emplace_back(kFlag, true);
  return arguments;
}

/// forward(input, ...) of a module that does nothing with what else it gets.
Value DataParallelTraining::call(Module& module, const Arguments& arguments,
                                 const StepDirectives& directives) {
  const Tensor input = unpack_inputs(training_.input_form, arguments, {kInput}).front();
  if (directives.keyword_rows > 0) check_extra(arguments);
  const Tensor output = module.forward(input);
  columns_ = output.shape()[-1];
  return pack_outputs(training_.output_form, {{"logits", output}});
}

/// forward(input, target, ...) of a module that returns its own mean loss, without dimensions.
Value DataParallelTraining::own_loss(Module& module, const Arguments& arguments,
                                     const StepDirectives& directives) const {
  const std::vector<Tensor> inputs =
      unpack_inputs(training_.input_form, arguments, {kInput, kTarget});
  if (directives.keyword_rows > 0) check_extra(arguments);
  const Tensor output = module.forward(inputs[0]);
  const Tensor loss = reshape(training_.loss(output, inputs[1]), Shape{});
  return pack_outputs(training_.output_form, {{"loss", loss}, {"logits", output}});
}

Tensor DataParallelTraining::forward(const Tensor& inputs, const StepDirectives& directives) {
  const Value gathered = wrapper_.forward(
      arguments_of({{kInput, inputs}}, directives),
      [&](Module& module, const Arguments& own) { return call(module, own, directives); });
  return unpack_output(training_.output_form, gathered, columns_);
}

/// The script makes one loss of those that the replicas return.
Tensor DataParallelTraining::loss_in_forward(const Batch& batch, const StepDirectives& directives) {
  const Value gathered = wrapper_.forward(
      arguments_of({{kInput, batch.inputs}, {kTarget, batch.targets}}, directives),
      [&](Module& module, const Arguments& own) { return own_loss(module, own, directives); });
  const Tensor losses = unpack_output(training_.output_form, gathered, 1);
  const StepScope phase(devices(), Phase::kLoss);
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
  if (!directives.wrapped_optimizer) optimizer_->zero_grad(training_.set_to_none);
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
