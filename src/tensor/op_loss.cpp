// cross_entropy, mse_loss, count_correct.
#include <fmt/format.h>

#include "tensor/operator.h"

namespace ringside {
namespace {

Tensor scalar_output(const Tensor& like, DType dtype) {
  return Tensor::empty(like.device(), {1}, dtype, MemoryKind::kOutputs);
}

class CrossEntropyBackward final : public Node {
 public:
  CrossEntropyBackward(const Tensor& probabilities, const Tensor& targets,
                       const CrossEntropyOptions& options)
      : Node("cross-entropy-backward"),
        probabilities_(saved(probabilities)),
        targets_(saved(targets)),
        options_(options) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dloss = gradients.front();
    Tensor dlogits = empty_activation(probabilities_, probabilities_.shape());
    submit(dlogits.device(), "cross-entropy-backward", {},
           2.0 * static_cast<double>(dlogits.numel()),
           {{dloss, "grad-loss"}, {probabilities_, "probabilities"}, {targets_, "targets"}},
           {{dlogits, "grad-logits"}},
           [out = dlogits.array(), gradient = dloss.array(), p = probabilities_.array(),
            t = targets_.array(), options = options_](LaunchContext& context) {
             context.kernels.cross_entropy_backward(context, out, gradient, p, t, options);
           });
    return {dlogits};
  }

  void release() override { probabilities_ = targets_ = Tensor(); }

 private:
  Tensor probabilities_, targets_;
  CrossEntropyOptions options_;
};

class MseBackward final : public Node {
 public:
  MseBackward(const Tensor& x, const Tensor& y)
      : Node("mse-loss-backward"), x_(saved(x)), y_(saved(y)) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dloss = gradients.front();
    Gradients results(2);
    if (next()[0].node != nullptr) results[0] = gradient_of_first(dloss, x_, y_);
    if (next()[1].node != nullptr) results[1] = gradient_of_first(dloss, y_, x_);
    return results;
  }

  void release() override { x_ = y_ = Tensor(); }

 private:
  /// The loss is symmetric: the gradient of y is that of x with both exchanged.
  static Tensor gradient_of_first(const Tensor& dloss, const Tensor& first, const Tensor& second) {
    Tensor gradient = empty_activation(first, first.shape());
    submit(first.device(), "mse-loss-backward", {}, 2.0 * static_cast<double>(first.numel()),
           {{dloss, "grad-loss"}, {first, "input"}, {second, "target"}}, {{gradient, "grad-input"}},
           [out = gradient.array(), d = dloss.array(), a = first.array(), b = second.array()](
               LaunchContext& context) { context.kernels.mse_backward(context, out, d, a, b); });
    return gradient;
  }

  Tensor x_, y_;
};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
  check_targets("cross_entropy", targets, logits);
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    fail("cross_entropy",
         fmt::format("label smoothing {}: must be from 0 to 1", options.label_smoothing));
  }
  const bool reduced = options.reduction != CrossEntropyOptions::Reduction::kNone;
  Tensor loss = Tensor::empty(logits.device(), {reduced ? 1 : logits.shape()[0]}, logits.dtype(),
                              MemoryKind::kOutputs);
  const Tensor probabilities = empty_activation(logits, logits.shape());
  submit(logits.device(), "cross-entropy", {}, 5.0 * static_cast<double>(logits.numel()),
         {{logits, "logits"}, {targets, "targets"}},
         {{loss, "loss"}, {probabilities, "probabilities"}},
         [out = loss.array(), p = probabilities.array(), in = logits.array(), t = targets.array(),
          options](LaunchContext& context) {
           context.kernels.cross_entropy(context, out, p, in, t, options);
         });
  if (records_graph(logits.device(), {&logits})) {
    attach(loss, make_node<CrossEntropyBackward>(logits.device(), probabilities, targets, options),
           {&logits});
  }
  return loss;
}

Tensor mse_loss(const Tensor& x, const Tensor& y) {
  check_defined("mse_loss", {{x, "input"}, {y, "target"}});
  check_alike("mse_loss", {{x, "input"}, {y, "target"}});
  check_same_shape("mse_loss", {x, "input"}, {y, "target"});
  Tensor loss = scalar_output(x, x.dtype());
  submit(x.device(), "mse-loss", {}, 3.0 * static_cast<double>(x.numel()),
         {{x, "input"}, {y, "target"}}, {{loss, "loss"}},
         [out = loss.array(), a = x.array(), b = y.array()](LaunchContext& context) {
           context.kernels.mse(context, out, a, b);
         });
  if (records_graph(x.device(), {&x, &y})) {
    attach(loss, make_node<MseBackward>(x.device(), x, y), {&x, &y});
  }
  return loss;
}

Tensor count_correct(const Tensor& logits, const Tensor& targets) {
  check_targets("count_correct", targets, logits);
  Tensor correct = scalar_output(logits, DType::kInt64);
  submit(logits.device(), "count-correct", {}, static_cast<double>(logits.numel()),
         {{logits, "logits"}, {targets, "targets"}}, {{correct, "correct"}},
         [out = correct.array(), in = logits.array(), t = targets.array()](LaunchContext& context) {
           context.kernels.count_correct(context, out, in, t);
         });
  return correct;
}

}  // namespace ringside
