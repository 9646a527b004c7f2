// max_pool2d and avg_pool2d.
#include <fmt/format.h>

#include "tensor/operator.h"

namespace ringside {
namespace {

/// How many windows fit into `size`.
std::int64_t windows(std::int64_t size, const Pool2dOptions& options) {
  return (size - options.kernel) / options.stride + 1;
}

/// One operation for each element of each of y's windows.
double window_flops(const Tensor& y, const Pool2dOptions& options) {
  return static_cast<double>(y.numel() * options.kernel * options.kernel);
}

class MaxPool2dBackward final : public Node {
 public:
  MaxPool2dBackward(const Shape& x_shape, const Tensor& argmax)
      : Node("max-pool2d-backward"), x_shape_(x_shape), argmax_(saved(argmax)) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    Tensor dx = empty_activation(dy, x_shape_);
    submit(
        dy.device(), "max-pool2d-backward", {}, static_cast<double>(dy.numel()),
        {{dy, "grad-output"}, {argmax_, "argmax"}}, {{dx, "grad-input"}},
        [out = dx.array(), gradient = dy.array(), index = argmax_.array()](LaunchContext& context) {
          context.kernels.max_pool2d_backward(context, out, gradient, index);
        });
    return {dx};
  }

  void release() override { argmax_ = Tensor(); }

 private:
  Shape x_shape_;
  Tensor argmax_;
};

class AvgPool2dBackward final : public Node {
 public:
  AvgPool2dBackward(const Shape& x_shape, const Pool2dOptions& options)
      : Node("avg-pool2d-backward"), x_shape_(x_shape), options_(options) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    Tensor dx = empty_activation(dy, x_shape_);
    submit(dy.device(), "avg-pool2d-backward", {}, window_flops(dy, options_),
           {{dy, "grad-output"}}, {{dx, "grad-input"}},
           [out = dx.array(), gradient = dy.array(), options = options_](LaunchContext& context) {
             context.kernels.avg_pool2d_backward(context, out, gradient, options);
           });
    return {dx};
  }

 private:
  Shape x_shape_;
  Pool2dOptions options_;
};

/// The shape of the result, after all checks.
Shape pooled_shape(std::string_view op, const Tensor& x, const Pool2dOptions& options) {
  check_defined(op, {{x, "input"}});
  check_alike(op, {{x, "input"}});
  check_rank(op, {x, "input"}, 4, "[batch, channels, height, width]");
  const Shape& in = x.shape();
  if (options.kernel < 1 || options.stride < 1) {
    fail(op,
         fmt::format("kernel {} and stride {} must be at least 1", options.kernel, options.stride));
  }
  if (in[2] < options.kernel || in[3] < options.kernel) {
    fail(op, fmt::format("kernel {}x{} does not fit into input {}", options.kernel, options.kernel,
                         to_string(in)));
  }
  return {in[0], in[1], windows(in[2], options), windows(in[3], options)};
}

}  // namespace

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  const Shape shape = pooled_shape("max_pool2d", x, options);
  Tensor y = empty_activation(x, shape);
  const Tensor argmax = Tensor::empty(x.device(), shape, DType::kInt64, MemoryKind::kActivations);
  submit(
      x.device(), "max-pool2d", {}, window_flops(y, options), {{x, "input"}},
      {{y, "output"}, {argmax, "argmax"}},
      [out = y.array(), index = argmax.array(), in = x.array(), options](LaunchContext& context) {
        context.kernels.max_pool2d(context, out, index, in, options);
      });
  if (records_graph(x.device(), {&x})) {
    attach(y, make_node<MaxPool2dBackward>(x.device(), x.shape(), argmax), {&x});
  }
  return y;
}

Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options) {
  Tensor y = empty_activation(x, pooled_shape("avg_pool2d", x, options));
  submit(x.device(), "avg-pool2d", {}, window_flops(y, options), {{x, "input"}}, {{y, "output"}},
         [out = y.array(), in = x.array(), options](LaunchContext& context) {
           context.kernels.avg_pool2d(context, out, in, options);
         });
  if (records_graph(x.device(), {&x})) {
    attach(y, make_node<AvgPool2dBackward>(x.device(), x.shape(), options), {&x});
  }
  return y;
}

}  // namespace ringside
