// linear: y = x weightᵀ + bias.
//
// One op forward. Backward is one node for three gradients; its edges are those of PyTorch's addmm
// (bias, x, weight), so that the bias's gradient is ready before the weight's.
#include <fmt/format.h>

#include "tensor/operator.h"

namespace ringside {
namespace {

double product_flops(const Tensor& weight, std::int64_t rows) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(weight.numel());
}

class LinearBackward final : public Node {
 public:
  LinearBackward(const Tensor& x, const Tensor& weight, const Tensor& bias)
      : Node("linear-backward"),
        x_(saved(x, weight.requires_grad())),
        weight_(saved(weight)),
        bias_(saved(bias)) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    Gradients results(3);
    if (next()[0].node != nullptr) results[0] = bias_gradient(dy);
    if (next()[1].node != nullptr) results[1] = input_gradient(dy);
    if (next()[2].node != nullptr) results[2] = weight_gradient(dy);
    return results;
  }

  void release() override { x_ = weight_ = bias_ = Tensor(); }

 private:
  Tensor bias_gradient(const Tensor& dy) const {
    Tensor dbias = empty_parameter_gradient(bias_);
    submit(dy.device(), "linear-backward-bias", module_of(weight_), static_cast<double>(dy.numel()),
           {{dy, "grad-output"}}, {{dbias, "grad-bias"}},
           [out = dbias.array(), in = dy.array()](LaunchContext& context) {
             context.kernels.sum_rows(context, out, in);
           });
    return dbias;
  }

  /// dx = dy weight.
  Tensor input_gradient(const Tensor& dy) const {
    const std::int64_t rows = dy.shape()[0];
    Tensor dx = empty_activation(dy, {rows, weight_.shape()[1]});
    submit(dy.device(), "linear-backward-input", module_of(weight_), product_flops(weight_, rows),
           {{dy, "grad-output"}, {weight_, "weight"}}, {{dx, "grad-input"}},
           [out = dx.array(), a = dy.array(), b = weight_.array()](LaunchContext& context) {
             context.kernels.gemm(context, out, a, b, {});
           });
    return dx;
  }

  /// dweight = dyᵀ x.
  Tensor weight_gradient(const Tensor& dy) const {
    Tensor dweight = empty_parameter_gradient(weight_);
    submit(dy.device(), "linear-backward-weight", module_of(weight_),
           product_flops(weight_, dy.shape()[0]), {{dy, "grad-output"}, {x_, "input"}},
           {{dweight, "grad-weight"}},
           [out = dweight.array(), a = dy.array(), b = x_.array()](LaunchContext& context) {
             GemmOptions options;
             options.transpose_a = true;
             context.kernels.gemm(context, out, a, b, options);
           });
    return dweight;
  }

  Tensor x_, weight_, bias_;
};

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  constexpr std::string_view kOp = "linear";
  check_defined(kOp, {{x, "input"}, {weight, "weight"}});
  check_alike(kOp, {{x, "input"}, {weight, "weight"}, {bias, "bias"}});
  check_rank(kOp, {x, "input"}, 2, "[rows, in]");
  check_rank(kOp, {weight, "weight"}, 2, "[out, in]");
  if (x.shape()[1] != weight.shape()[1]) {
    fail(kOp, fmt::format("input {} does not fit weight {}: the last dimension must be {}",
                          to_string(x.shape()), to_string(weight.shape()), weight.shape()[1]));
  }
  if (bias.defined() && bias.shape() != Shape{weight.shape()[0]}) {
    fail(kOp, fmt::format("bias {} does not fit weight {}: it must have {} elements",
                          to_string(bias.shape()), to_string(weight.shape()), weight.shape()[0]));
  }
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_linear(x, weight, bias);
  const std::int64_t rows = x.shape()[0];
  Tensor y = empty_activation(x, {rows, weight.shape()[0]});
  submit(x.device(), "linear", module_of(weight), product_flops(weight, rows),
         {{x, "input"}, {weight, "weight"}, {bias, "bias"}}, {{y, "output"}},
         [out = y.array(), in = x.array(), w = weight.array(),
          b = bias.defined() ? bias.array() : DeviceArray()](LaunchContext& context) {
           GemmOptions options;
           options.transpose_b = true;
           context.kernels.gemm(context, out, in, w, options);
           if (!b.empty()) context.kernels.add_bias(context, out, b);
         });
  if (records_graph(x.device(), {&x, &weight, &bias})) {
    attach(y, make_node<LinearBackward>(x.device(), x, weight, bias), {&bias, &x, &weight});
  }
  return y;
}

}  // namespace ringside
