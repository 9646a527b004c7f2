// Training on one device: the step that the other strategies spread over several.
#include <utility>

#include "parallel/step_scope.h"
#include "ringside/strategy.h"

namespace ringside {
namespace {

class SingleStrategy : public Strategy {
 public:
  SingleStrategy(std::shared_ptr<Module> module, Device& device, const SingleOptions& options)
      : module_(std::move(module)),
        devices_{&device},
        loss_(options.loss),
        set_to_none_(options.set_to_none),
        optimizer_(options.optimizer(module_->named_parameters())) {}

  std::string_view name() const override { return "single"; }

  StepResult train_step(const Batch& batch, int step, const StepDirectives& directives) override {
    const StepScope scope(devices_, step, Phase::kForward);
    module_->train();
    optimizer_->zero_grad(set_to_none_);
    for (int i = 0; i < directives.extra_forwards; ++i) module_->forward(batch.inputs);
    const Tensor output = module_->forward(batch.inputs);
    const Tensor loss = loss_of(output, batch.targets);
    {
      const StepScope phase(devices_, Phase::kBackward);
      backward(loss);
    }
    const StepScope phase(devices_, Phase::kUpdate);
    optimizer_->step();
    return {loss.detach(), batch.rows()};
  }

  Tensor evaluate(const Batch& batch) override {
    const StepScope phase(devices_, Phase::kEvaluate);
    const NoGradScope no_grad(*devices_.front());
    module_->train(false);
    return module_->forward(batch.inputs);
  }

  Device& input_device() override { return *devices_.front(); }
  std::vector<NamedTensor> state_dict() const override { return module_->state_dict(); }
  Module& module() override { return *module_; }
  Optimizer& optimizer() override { return *optimizer_; }

 private:
  Tensor loss_of(const Tensor& output, const Tensor& targets) {
    const StepScope phase(devices_, Phase::kLoss);
    return loss_(output, targets);
  }

  std::shared_ptr<Module> module_;
  std::vector<Device*> devices_;
  LossFunction loss_;
  bool set_to_none_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace

std::unique_ptr<Strategy> make_single(std::shared_ptr<Module> module, World& world, int device,
                                      const SingleOptions& options) {
  return std::make_unique<SingleStrategy>(std::move(module), world.device(device), options);
}

}  // namespace ringside
