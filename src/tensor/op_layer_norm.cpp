// layer_norm over the last dimension.
#include <fmt/format.h>

#include "tensor/operator.h"

namespace ringside {
namespace {

constexpr std::string_view kLayerNorm = "layer_norm";
constexpr double kLayerNormFlops = 8;            // as batch_norm
constexpr double kBackwardFlopsPerElement = 14;  // x̂, two sums of the row, dx, two of the columns

class LayerNormBackward final : public Node {
 public:
  LayerNormBackward(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                    const Tensor& inverse_std)
      : Node("layer-norm-backward"),
        x_(saved(x)),
        weight_(saved(weight)),
        bias_(saved(bias)),
        mean_(saved(mean)),
        inverse_std_(saved(inverse_std)) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    const Tensor dx = empty_activation(x_, x_.shape());
    const Tensor dweight = empty_parameter_gradient(weight_);
    const Tensor dbias = empty_parameter_gradient(bias_);
    submit(dy.device(), "layer-norm-backward", module_of(weight_),
           kBackwardFlopsPerElement * static_cast<double>(x_.numel()),
           {{dy, "grad-output"},
            {x_, "input"},
            {weight_, "weight"},
            {mean_, "mean"},
            {inverse_std_, "inverse-std"}},
           {{dx, "grad-input"}, {dweight, "grad-weight"}, {dbias, "grad-bias"}},
           [out = dx.array(), out_weight = dweight.array(), out_bias = dbias.array(),
            gradient = dy.array(), x = x_.array(), weight = weight_.array(), mean = mean_.array(),
            inverse_std = inverse_std_.array()](LaunchContext& context) {
             context.kernels.layer_norm_backward(context, out, out_weight, out_bias, gradient, x,
                                                 weight, mean, inverse_std);
           });
    return {dx, dweight, dbias};
  }

  void release() override { x_ = weight_ = bias_ = mean_ = inverse_std_ = Tensor(); }

 private:
  Tensor x_, weight_, bias_, mean_, inverse_std_;
};

void check_layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_defined(kLayerNorm, {{x, "input"}, {weight, "weight"}, {bias, "bias"}});
  check_alike(kLayerNorm, {{x, "input"}, {weight, "weight"}, {bias, "bias"}});
  const bool has_rows = x.shape().rank() > 0;
  if (has_rows && x.shape()[-1] > 0 && weight.shape() == Shape{x.shape()[-1]} &&
      bias.shape() == weight.shape()) {
    return;
  }
  fail(kLayerNorm,
       fmt::format("input {} does not fit weight {} and bias {}: both must have the size of "
                   "its last dimension, at least 1",
                   to_string(x.shape()), to_string(weight.shape()), to_string(bias.shape())));
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  check_layer_norm(x, weight, bias);
  const Shape rows{x.numel() / weight.numel()};
  Tensor y = empty_activation(x, x.shape());
  const Tensor mean = empty_activation(x, rows);
  const Tensor inverse_std = empty_activation(x, rows);
  submit(
      x.device(), "layer-norm", module_of(weight), kLayerNormFlops * static_cast<double>(x.numel()),
      {{x, "input"}, {weight, "weight"}, {bias, "bias"}},
      {{y, "output"}, {mean, "mean"}, {inverse_std, "inverse-std"}},
      [out = y.array(), saved_mean = mean.array(), saved_inverse_std = inverse_std.array(),
       in = x.array(), w = weight.array(), b = bias.array(), epsilon](LaunchContext& context) {
        context.kernels.layer_norm(context, out, saved_mean, saved_inverse_std, in, w, b, epsilon);
      });
  if (records_graph(x.device(), {&x, &weight, &bias})) {
    attach(y, make_node<LayerNormBackward>(x.device(), x, weight, bias, mean, inverse_std),
           {&x, &weight, &bias});
  }
  return y;
}

}  // namespace ringside
