// Clipping of gradients, and optimisers by name.

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "ringside/error.h"
#include "ringside/optim.h"

namespace ringside {
namespace {

void check_max_norm(double max_norm) {
  if (max_norm > 0 && std::isfinite(max_norm)) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("clip_grad_norm: norm {}: must be above 0", max_norm));
}

/// Tensors that one op takes together, on the device and of the dtype of `first`.
struct Operands {
  Operands(const Tensor& first, const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      if (&tensor.device() != &first.device() || tensor.dtype() != first.dtype()) {
        throw Error(ErrorKind::kInvalidArgument,
                    fmt::format("clip_grad_norm: '{}' is {} on {}, but '{}' is {} on {}",
                                tensor.name(), to_string(tensor.dtype()), tensor.device().name(),
                                first.name(), to_string(first.dtype()), first.device().name()));
      }
      arrays.push_back(tensor.array());
      refs.push_back({tensor.name(), &tensor.array()});
      elements += static_cast<double>(tensor.numel());
    }
  }
  std::vector<DeviceArray> arrays;
  std::vector<TensorRef> refs;
  double elements = 0;
};

/// Clips before every step of another optimiser. As the step comes after all communication, every
/// rank of DDP sees the averaged gradients, and so the same norm.
class ClippingOptimizer final : public Optimizer {
 public:
  ClippingOptimizer(std::unique_ptr<Optimizer> inner, std::vector<NamedTensor> parameters,
                    double max_norm)
      : inner_(std::move(inner)), parameters_(std::move(parameters)), max_norm_(max_norm) {
    check_max_norm(max_norm);
  }
  void step() override {
    clip_grad_norm(parameters_, max_norm_);
    inner_->step();
  }
  void zero_grad(bool set_to_none) override { inner_->zero_grad(set_to_none); }
  std::string describe() const override {
    return fmt::format("{}, gradients clipped to norm {}", inner_->describe(), max_norm_);
  }
  std::vector<NamedTensor> state_dict() const override { return inner_->state_dict(); }
  void load_state_dict(const std::vector<NamedTensor>& state) override {
    inner_->load_state_dict(state);
  }

 private:
  std::unique_ptr<Optimizer> inner_;
  std::vector<NamedTensor> parameters_;
  double max_norm_;
};

std::unique_ptr<Optimizer> make_by_name(std::string_view name, std::vector<NamedTensor> parameters,
                                        const OptimizerOptions& options) {
  if (name == "sgd") return make_sgd(std::move(parameters), options.sgd);
  if (name == "adam" || name == "adamw") {
    AdamOptions adam = options.adam;
    adam.decoupled = name == "adamw";
    return make_adam(std::move(parameters), adam);
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("optimizer '{}': must be sgd, adam or adamw", name));
}

}  // namespace

void total_norm(const Tensor& total, const std::vector<Tensor>& tensors) {
  const Operands operands(total, tensors);
  const TensorRef written[] = {{total.name(), &total.array()}};
  OpInfo info;
  info.name = "total-norm";
  info.flops = 2 * operands.elements;  // square and sum
  info.reads = operands.refs;
  info.writes = written;
  total.device().compute().submit(
      info, [total = total.array(), arrays = operands.arrays](LaunchContext& context) {
        context.kernels.total_norm(context, total, arrays);
      });
}

void clip_with_norm(const std::vector<Tensor>& gradients, const Tensor& total, double max_norm) {
  check_max_norm(max_norm);
  const Operands operands(total, gradients);
  std::vector<TensorRef> reads = operands.refs;
  reads.push_back({total.name(), &total.array()});
  OpInfo info;
  info.name = "clip-with-norm";
  info.flops = operands.elements;
  info.reads = reads;
  info.writes = operands.refs;
  total.device().compute().submit(
      info, [total = total.array(), arrays = operands.arrays, max_norm](LaunchContext& context) {
        context.kernels.clip_with_norm(context, arrays, total, max_norm);
      });
}

Tensor clip_grad_norm(const std::vector<NamedTensor>& parameters, double max_norm) {
  check_max_norm(max_norm);
  std::vector<Tensor> gradients;
  for (const NamedTensor& entry : parameters) {
    if (Tensor gradient = entry.tensor.grad()) gradients.push_back(std::move(gradient));
  }
  if (gradients.empty()) return {};
  const Tensor& first = gradients.front();
  Tensor total =
      Tensor::empty(first.device(), Shape{1}, first.dtype(), MemoryKind::kWorkspace, "total-norm");
  const Operands operands(first, gradients);
  std::vector<TensorRef> writes = operands.refs;
  writes.push_back({total.name(), &total.array()});
  OpInfo info;
  info.name = "clip-grad-norm";
  info.flops = 3 * operands.elements;  // square and sum; scale
  info.reads = operands.refs;
  info.writes = writes;
  first.device().compute().submit(
      info, [total = total.array(), arrays = operands.arrays, max_norm](LaunchContext& context) {
        context.kernels.total_norm(context, total, arrays);
        context.kernels.clip_with_norm(context, arrays, total, max_norm);
      });
  return total;
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          std::vector<NamedTensor> parameters,
                                          const OptimizerOptions& options) {
  if (options.clip_grad_norm == 0) return make_by_name(name, std::move(parameters), options);
  std::unique_ptr<Optimizer> inner = make_by_name(name, parameters, options);
  return std::make_unique<ClippingOptimizer>(std::move(inner), std::move(parameters),
                                             options.clip_grad_norm);
}

}  // namespace ringside
