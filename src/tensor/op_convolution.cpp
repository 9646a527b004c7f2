// conv2d.
#include <fmt/format.h>

#include "tensor/operator.h"

namespace ringside {
namespace {

/// How many windows of `kernel` fit into `size` padded on both sides.
std::int64_t windows(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding) {
  return (size + 2 * padding - kernel) / stride + 1;
}

class Conv2dBackward final : public Node {
 public:
  Conv2dBackward(const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const Conv2dOptions& options, double flops)
      : Node("conv2d-backward"),
        x_(saved(x, weight.requires_grad())),
        weight_(saved(weight)),
        bias_(saved(bias)),
        x_shape_(x.shape()),
        options_(options),
        flops_(flops) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    Gradients results(3);
    if (next()[0].node != nullptr) results[0] = input_gradient(dy);
    if (next()[1].node != nullptr) results[1] = weight_gradient(dy);
    if (next()[2].node != nullptr) results[2] = bias_gradient(dy);
    return results;
  }

  void release() override { x_ = weight_ = bias_ = Tensor(); }

 private:
  Tensor input_gradient(const Tensor& dy) const {
    Tensor dx = empty_activation(dy, x_shape_);
    submit(dy.device(), "conv2d-backward-input", module_of(weight_), flops_,
           {{dy, "grad-output"}, {weight_, "weight"}}, {{dx, "grad-input"}},
           [out = dx.array(), gradient = dy.array(), w = weight_.array(),
            options = options_](LaunchContext& context) {
             context.kernels.conv2d_backward_input(context, out, gradient, w, options);
           });
    return dx;
  }

  Tensor weight_gradient(const Tensor& dy) const {
    Tensor dweight = empty_parameter_gradient(weight_);
    submit(dy.device(), "conv2d-backward-weight", module_of(weight_), flops_,
           {{dy, "grad-output"}, {x_, "input"}}, {{dweight, "grad-weight"}},
           [out = dweight.array(), gradient = dy.array(), in = x_.array(),
            options = options_](LaunchContext& context) {
             context.kernels.conv2d_backward_weight(context, out, gradient, in, options);
           });
    return dweight;
  }

  Tensor bias_gradient(const Tensor& dy) const {
    Tensor dbias = empty_parameter_gradient(bias_);
    submit(dy.device(), "conv2d-backward-bias", module_of(weight_), static_cast<double>(dy.numel()),
           {{dy, "grad-output"}}, {{dbias, "grad-bias"}},
           [out = dbias.array(), gradient = dy.array()](LaunchContext& context) {
             context.kernels.conv2d_backward_bias(context, out, gradient);
           });
    return dbias;
  }

  Tensor x_, weight_, bias_;
  Shape x_shape_;
  Conv2dOptions options_;
  double flops_;
};

/// The shape of conv2d's result, after all checks.
Shape conv2d_shape(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Conv2dOptions& options) {
  constexpr std::string_view kOp = "conv2d";
  check_defined(kOp, {{x, "input"}, {weight, "weight"}});
  check_alike(kOp, {{x, "input"}, {weight, "weight"}, {bias, "bias"}});
  check_rank(kOp, {x, "input"}, 4, "[batch, channels, height, width]");
  check_rank(kOp, {weight, "weight"}, 4, "[out channels, in channels, height, width]");
  const Shape& in = x.shape();
  const Shape& kernel = weight.shape();
  if (in[1] != kernel[1]) {
    fail(kOp, fmt::format("input {} does not fit weight {}: it must have {} channels",
                          to_string(in), to_string(kernel), kernel[1]));
  }
  if (bias.defined() && bias.shape() != Shape{kernel[0]}) {
    fail(kOp, fmt::format("bias {} does not fit weight {}: it must have {} elements",
                          to_string(bias.shape()), to_string(kernel), kernel[0]));
  }
  if (options.stride < 1 || options.padding < 0) {
    fail(kOp, fmt::format("stride {} must be at least 1 and padding {} at least 0", options.stride,
                          options.padding));
  }
  const std::int64_t height = in[2] + 2 * options.padding;
  const std::int64_t width = in[3] + 2 * options.padding;
  if (kernel[2] < 1 || kernel[3] < 1 || height < kernel[2] || width < kernel[3]) {
    fail(kOp, fmt::format("kernel {}x{} does not fit into the padded input {}x{} (input {}, "
                          "padding {})",
                          kernel[2], kernel[3], height, width, to_string(in), options.padding));
  }
  return {in[0], kernel[0], windows(in[2], kernel[2], options.stride, options.padding),
          windows(in[3], kernel[3], options.stride, options.padding)};
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options) {
  Tensor y = empty_activation(x, conv2d_shape(x, weight, bias, options));
  const double flops = 2.0 * static_cast<double>(y.shape()[0] * y.shape()[2] * y.shape()[3]) *
                       static_cast<double>(weight.numel());
  submit(x.device(), "conv2d", module_of(weight), flops,
         {{x, "input"}, {weight, "weight"}, {bias, "bias"}}, {{y, "output"}},
         [out = y.array(), in = x.array(), w = weight.array(),
          b = bias.defined() ? bias.array() : DeviceArray(), options](LaunchContext& context) {
           context.kernels.conv2d(context, out, in, w, b, options);
         });
  if (records_graph(x.device(), {&x, &weight, &bias})) {
    attach(y, make_node<Conv2dBackward>(x.device(), x, weight, bias, options, flops),
           {&x, &weight, &bias});
  }
  return y;
}

}  // namespace ringside
