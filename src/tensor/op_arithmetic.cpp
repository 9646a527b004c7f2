// add, scale and sum, and the operators that write in place (these have no place in the graph).
#include <fmt/format.h>

#include "tensor/operator.h"

namespace ringside {
namespace {

class AddBackward final : public Node {
 public:
  AddBackward() : Node("add-backward") {}
  Gradients backward(Gradients gradients) override {
    return {gradients.front(), gradients.front()};
  }
};

class ScaleBackward final : public Node {
 public:
  explicit ScaleBackward(double factor) : Node("scale-backward"), factor_(factor) {}
  Gradients backward(Gradients gradients) override {
    return {scale(gradients.front().detach(), factor_)};
  }

 private:
  double factor_;
};

class SumBackward final : public Node {
 public:
  explicit SumBackward(const Shape& shape) : Node("sum-backward"), shape_(shape) {}
  Gradients backward(Gradients gradients) override {
    const Tensor& dsum = gradients.front();
    Tensor dx = empty_activation(dsum, shape_);
    submit(dx.device(), "sum-backward", {}, static_cast<double>(dx.numel()),
           {{dsum, "grad-output"}}, {{dx, "grad-input"}},
           [out = dx.array(), gradient = dsum.array()](LaunchContext& context) {
             context.kernels.fill(context, out, 0);
             context.kernels.add_bias(context, out, gradient);
           });
    return {dx};
  }

 private:
  Shape shape_;
};

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  check_defined("add", {{a, "first"}, {b, "second"}});
  check_alike("add", {{a, "first"}, {b, "second"}});
  check_same_shape("add", {a, "first"}, {b, "second"});
  Tensor sum = empty_activation(a, a.shape());
  submit(a.device(), "add", {}, static_cast<double>(a.numel()), {{a, "first"}, {b, "second"}},
         {{sum, "sum"}},
         [out = sum.array(), left = a.array(), right = b.array()](LaunchContext& context) {
           context.kernels.add(context, out, 1, left, 1, right);
         });
  if (records_graph(a.device(), {&a, &b}))
    attach(sum, make_node<AddBackward>(a.device()), {&a, &b});
  return sum;
}

Tensor scale(const Tensor& a, double factor) {
  check_defined("scale", {{a, "input"}});
  check_alike("scale", {{a, "input"}});
  Tensor scaled = empty_activation(a, a.shape());
  submit(a.device(), "scale", {}, static_cast<double>(a.numel()), {{a, "input"}},
         {{scaled, "output"}},
         [out = scaled.array(), in = a.array(), factor](LaunchContext& context) {
           context.kernels.scale(context, out, in, factor);
         });
  if (records_graph(a.device(), {&a})) {
    attach(scaled, make_node<ScaleBackward>(a.device(), factor), {&a});
  }
  return scaled;
}

Tensor sum(const Tensor& a) {
  check_defined("sum", {{a, "input"}});
  check_alike("sum", {{a, "input"}});
  Tensor total = empty_activation(a, {1});
  DeviceArray column = a.array();
  column.shape = Shape{a.numel(), 1};
  submit(a.device(), "sum", {}, static_cast<double>(a.numel()), {{a, "input"}}, {{total, "output"}},
         [out = total.array(), in = std::move(column)](LaunchContext& context) {
           context.kernels.sum_rows(context, out, in);
         });
  if (records_graph(a.device(), {&a})) {
    attach(total, make_node<SumBackward>(a.device(), a.shape()), {&a});
  }
  return total;
}

void add_in_place(Tensor& out, const Tensor& a) {
  constexpr std::string_view kOp = "add_in_place";
  check_defined(kOp, {{out, "output"}, {a, "input"}});
  check_same_device(kOp, {out, "output"}, {a, "input"});
  check_same_shape(kOp, {out, "output"}, {a, "input"});
  if (out.dtype() != a.dtype()) {
    fail(kOp, fmt::format("output is {}, but input is {}", to_string(out.dtype()),
                          to_string(a.dtype())));
  }
  submit(out.device(), "add-in-place", out.name(), static_cast<double>(out.numel()),
         {{out, "output"}, {a, "input"}}, {{out, "output"}},
         [sum = out.array(), addend = a.array()](LaunchContext& context) {
           context.kernels.add(context, sum, 1, sum, 1, addend);
         });
}

void copy_in_place(Tensor& destination, const Tensor& source) {
  constexpr std::string_view kOp = "copy_in_place";
  check_defined(kOp, {{destination, "destination"}, {source, "source"}});
  check_same_device(kOp, {destination, "destination"}, {source, "source"});
  if (destination.numel() != source.numel() || destination.dtype() != source.dtype()) {
    fail(kOp, fmt::format("source ({} {}) does not fit destination ({} {})",
                          to_string(source.dtype()), to_string(source.shape()),
                          to_string(destination.dtype()), to_string(destination.shape())));
  }
  submit_copy(source.device(), "copy", destination.name(), source.bytes(), {{source, "source"}},
              {{destination, "destination"}},
              [to = destination.array(), from = source.array()](LaunchContext& context) {
                context.kernels.copy(context, to, from);
              });
}

void fill_in_place(Tensor& out, double value) {
  check_defined("fill_in_place", {{out, "output"}});
  submit(out.device(), "fill", out.name(), 0, {}, {{out, "output"}},
         [array = out.array(), value](LaunchContext& context) {
           context.kernels.fill(context, array, value);
         });
}

}  // namespace ringside
