// dropout. Backward is the same op on the gradient: the key says all that must be remembered.
// (PyTorch keeps the mask instead.)
#include <fmt/format.h>

#include "tensor/operator.h"

namespace ringside {
namespace {

constexpr double kDropoutFlops = 1;  // the scale; the integer work of the draws does not count

void submit_dropout(std::string_view name, const Operand& in, const Operand& out, double p,
                    const RandomKey& key) {
  submit(in.tensor.device(), name, {}, kDropoutFlops * static_cast<double>(in.tensor.numel()), {in},
         {out}, [y = out.tensor.array(), x = in.tensor.array(), p, key](LaunchContext& context) {
           context.kernels.dropout(context, y, x, p, key);
         });
}

class DropoutBackward final : public Node {
 public:
  DropoutBackward(double p, const RandomKey& key) : Node("dropout-backward"), p_(p), key_(key) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    Tensor dx = empty_activation(dy, dy.shape());
    submit_dropout("dropout-backward", {dy, "grad-output"}, {dx, "grad-input"}, p_, key_);
    return {dx};
  }

 private:
  double p_;
  RandomKey key_;
};

}  // namespace

Tensor dropout(const Tensor& x, double p, const RandomKey& key) {
  check_defined("dropout", {{x, "input"}});
  check_alike("dropout", {{x, "input"}});
  if (!(p >= 0 && p <= 1)) fail("dropout", fmt::format("probability {} must be from 0 to 1", p));
  Tensor y = empty_activation(x, x.shape());
  submit_dropout("dropout", {x, "input"}, {y, "output"}, p, key);
  if (records_graph(x.device(), {&x}))
    attach(y, make_node<DropoutBackward>(x.device(), p, key), {&x});
  return y;
}

}  // namespace ringside
