// relu and tanh. Both keep their output for backward.
#include "tensor/operator.h"

namespace ringside {
namespace {

using ForwardKernel = void (Kernels::*)(LaunchContext&, const DeviceArray& y, const DeviceArray& x);
using BackwardKernel = void (Kernels::*)(LaunchContext&, const DeviceArray& dx,
                                         const DeviceArray& dy, const DeviceArray& y);

/// What sets one activation apart from another; names are literals.
struct Activation {
  std::string_view name;
  std::string_view backward_name;
  ForwardKernel forward;
  BackwardKernel backward;
};

constexpr Activation kRelu{"relu", "relu-backward", &Kernels::relu, &Kernels::relu_backward};
constexpr Activation kTanh{"tanh", "tanh-backward", &Kernels::tanh, &Kernels::tanh_backward};

class ActivationBackward final : public Node {
 public:
  ActivationBackward(const Activation& activation, const Tensor& y)
      : Node(std::string(activation.backward_name)), activation_(activation), y_(saved(y)) {}

  std::vector<Tensor> backward(std::vector<Tensor> gradients) override {
    const Tensor& dy = gradients.front();
    Tensor dx = empty_activation(y_, y_.shape());
    submit(y_.device(), activation_.backward_name, {}, static_cast<double>(y_.numel()),
           {{dy, "grad-output"}, {y_, "output"}}, {{dx, "grad-input"}},
           [kernel = activation_.backward, out = dx.array(), gradient = dy.array(),
            activated = y_.array()](LaunchContext& context) {
             (context.kernels.*kernel)(context, out, gradient, activated);
           });
    return {dx};
  }

  void release() override { y_ = Tensor(); }

 private:
  const Activation& activation_;
  Tensor y_;
};

Tensor activate(const Activation& activation, const Tensor& x) {
  check_defined(activation.name, {{x, "input"}});
  check_alike(activation.name, {{x, "input"}});
  Tensor y = empty_activation(x, x.shape());
  submit(x.device(), activation.name, {}, static_cast<double>(x.numel()), {{x, "input"}},
         {{y, "output"}},
         [kernel = activation.forward, out = y.array(), in = x.array()](LaunchContext& context) {
           (context.kernels.*kernel)(context, out, in);
         });
  if (records_graph(x.device(), {&x})) {
    attach(y, std::make_shared<ActivationBackward>(activation, y), {&x});
  }
  return y;
}

}  // namespace

Tensor relu(const Tensor& x) { return activate(kRelu, x); }
Tensor tanh(const Tensor& x) { return activate(kTanh, x); }

}  // namespace ringside
