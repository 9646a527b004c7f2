// embedding and add_positions: where tokens and their places become vectors.
#include <fmt/format.h>

#include "tensor/operator.h"

namespace ringside {
namespace {

class EmbeddingBackward final : public Node {
 public:
  EmbeddingBackward(const Tensor& indices, const Tensor& weight)
      : Node("embedding-backward"), indices_(saved(indices)), weight_(saved(weight)) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    Tensor dweight = empty_parameter_gradient(weight_);
    submit(dy.device(), "embedding-backward", module_of(weight_), static_cast<double>(dy.numel()),
           {{dy, "grad-output"}, {indices_, "indices"}}, {{dweight, "grad-weight"}},
           [out = dweight.array(), gradient = dy.array(),
            index = indices_.array()](LaunchContext& context) {
             context.kernels.embedding_backward(context, out, gradient, index);
           });
    return {dweight};
  }

  void release() override { indices_ = weight_ = Tensor(); }

 private:
  Tensor indices_, weight_;
};

/// The first `rows` rows of a table.
DeviceArray first_rows(const Tensor& table, std::int64_t rows) {
  return table.array().slice(0, static_cast<std::size_t>(rows * table.shape()[1]));
}

class AddPositionsBackward final : public Node {
 public:
  AddPositionsBackward(const Tensor& weight, std::int64_t positions)
      : Node("add-positions-backward"), weight_(saved(weight)), positions_(positions) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    Gradients results{dy, {}};
    if (next()[1].node != nullptr) results[1] = weight_gradient(dy);
    return results;
  }

  void release() override { weight_ = Tensor(); }

 private:
  /// The batch's sum; positions that were not used get zeros.
  Tensor weight_gradient(const Tensor& dy) const {
    Tensor dweight = empty_parameter_gradient(weight_);
    submit(dy.device(), "add-positions-backward", module_of(weight_),
           static_cast<double>(dy.numel()), {{dy, "grad-output"}}, {{dweight, "grad-weight"}},
           [whole = dweight.array(), used = first_rows(dweight, positions_),
            gradient = dy.array()](LaunchContext& context) {
             if (used.count() != whole.count()) context.kernels.fill(context, whole, 0);
             context.kernels.sum_rows(context, used, gradient);
           });
    return dweight;
  }

  Tensor weight_;
  std::int64_t positions_;
};

}  // namespace

Tensor embedding(const Tensor& indices, const Tensor& weight) {
  constexpr std::string_view kOp = "embedding";
  check_defined(kOp, {{indices, "indices"}, {weight, "weight"}});
  check_alike(kOp, {{weight, "weight"}});
  check_same_device(kOp, {indices, "indices"}, {weight, "weight"});
  check_rank(kOp, {weight, "weight"}, 2, "[rows, width]");
  if (indices.dtype() != DType::kInt64) {
    fail(kOp, fmt::format("indices are {}, but must be int64", to_string(indices.dtype())));
  }
  const auto sizes = indices.shape().sizes();
  std::vector<std::int64_t> shape(sizes.begin(), sizes.end());
  shape.push_back(weight.shape()[1]);
  Tensor y = empty_activation(weight, Shape(std::span<const std::int64_t>(shape)));
  submit(weight.device(), kOp, module_of(weight), 0, {{indices, "indices"}, {weight, "weight"}},
         {{y, "output"}},
         [out = y.array(), table = weight.array(), index = indices.array()](
             LaunchContext& context) { context.kernels.embedding(context, out, table, index); });
  if (records_graph(weight.device(), {&weight})) {
    attach(y, make_node<EmbeddingBackward>(weight.device(), indices, weight), {&weight});
  }
  return y;
}

Tensor add_positions(const Tensor& x, const Tensor& weight) {
  constexpr std::string_view kOp = "add_positions";
  check_defined(kOp, {{x, "input"}, {weight, "weight"}});
  check_alike(kOp, {{x, "input"}, {weight, "weight"}});
  check_rank(kOp, {x, "input"}, 3, "[batch, positions, width]");
  check_rank(kOp, {weight, "weight"}, 2, "[context, width]");
  const std::int64_t positions = x.shape()[1];
  if (x.shape()[2] != weight.shape()[1] || positions > weight.shape()[0]) {
    fail(kOp, fmt::format("input {} does not fit weight {}: at most {} positions of width {}",
                          to_string(x.shape()), to_string(weight.shape()), weight.shape()[0],
                          weight.shape()[1]));
  }
  Tensor y = empty_activation(x, x.shape());
  submit(x.device(), "add-positions", module_of(weight), static_cast<double>(x.numel()),
         {{x, "input"}, {weight, "weight"}}, {{y, "output"}},
         [out = y.array(), in = x.array(),
          table = first_rows(weight, positions)](LaunchContext& context) {
           context.kernels.copy(context, out, in);
           context.kernels.add_bias(context, out, table);
         });
  if (records_graph(x.device(), {&x, &weight})) {
    attach(y, make_node<AddPositionsBackward>(x.device(), weight, positions), {&x, &weight});
  }
  return y;
}

}  // namespace ringside
