// relu, tanh and gelu. relu and tanh keep their output for backward, gelu its input.
#include "tensor/operator.h"

namespace ringside {
namespace {

using ForwardKernel = void (Kernels::*)(LaunchContext&, const DeviceArray& y, const DeviceArray& x);
using BackwardKernel = void (Kernels::*)(LaunchContext&, const DeviceArray& dx,
                                         const DeviceArray& dy, const DeviceArray& kept);

/// What sets one activation apart from another; names are literals.
struct Activation {
  std::string_view name;
  std::string_view backward_name;
  ForwardKernel forward;
  BackwardKernel backward;
  bool keeps_input = false;
  double flops = 1;  // per element; a function such as tanh or erf counts one
  double backward_flops = 1;
};

constexpr Activation kRelu{"relu", "relu-backward", &Kernels::relu, &Kernels::relu_backward};
constexpr Activation kTanh{"tanh", "tanh-backward", &Kernels::tanh, &Kernels::tanh_backward};
constexpr Activation kGelu{
    "gelu", "gelu-backward", &Kernels::gelu, &Kernels::gelu_backward, true, 5, 11};

class ActivationBackward final : public Node {
 public:
  ActivationBackward(const Activation& activation, const Tensor& kept)
      : Node(activation.backward_name), activation_(activation), kept_(saved(kept)) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    Tensor dx = empty_activation(kept_, kept_.shape());
    submit(kept_.device(), activation_.backward_name, {},
           activation_.backward_flops * static_cast<double>(kept_.numel()),
           {{dy, "grad-output"}, {kept_, activation_.keeps_input ? "input" : "output"}},
           {{dx, "grad-input"}},
           [kernel = activation_.backward, out = dx.array(), gradient = dy.array(),
            kept = kept_.array()](LaunchContext& context) {
             (context.kernels.*kernel)(context, out, gradient, kept);
           });
    return {dx};
  }

  void release() override { kept_ = Tensor(); }

 private:
  const Activation& activation_;
  Tensor kept_;
};

Tensor activate(const Activation& activation, const Tensor& x) {
  check_defined(activation.name, {{x, "input"}});
  check_alike(activation.name, {{x, "input"}});
  Tensor y = empty_activation(x, x.shape());
  submit(x.device(), activation.name, {}, activation.flops * static_cast<double>(x.numel()),
         {{x, "input"}}, {{y, "output"}},
         [kernel = activation.forward, out = y.array(), in = x.array()](LaunchContext& context) {
           (context.kernels.*kernel)(context, out, in);
         });
  if (records_graph(x.device(), {&x})) {
    const Tensor& kept = activation.keeps_input ? x : y;
    attach(y, make_node<ActivationBackward>(x.device(), activation, kept), {&x});
  }
  return y;
}

}  // namespace

Tensor relu(const Tensor& x) { return activate(kRelu, x); }
Tensor tanh(const Tensor& x) { return activate(kTanh, x); }
Tensor gelu(const Tensor& x) { return activate(kGelu, x); }

}  // namespace ringside
