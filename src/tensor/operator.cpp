// Bodies of operator.h.
#include "tensor/operator.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace ringside {
namespace {

/// "weight '0.weight'", or the role alone for a tensor without a name.
std::string call(const Operand& operand) {
  const std::string_view name = operand.tensor.name();
  return name.empty() ? std::string(operand.role) : fmt::format("{} '{}'", operand.role, name);
}

/// The references of an op, in a place of fixed size: nothing is allocated.
class References {
 public:
  explicit References(Operands operands) {
    for (const Operand& operand : operands) {
      if (!operand.tensor.defined() || count_ == references_.size()) continue;
      const std::string_view name = operand.tensor.name();
      references_[count_++] = {name.empty() ? operand.role : name, &operand.tensor.array()};
    }
  }
  std::span<const TensorRef> span() const { return {references_.data(), count_}; }

 private:
  std::array<TensorRef, 8> references_;
  std::size_t count_ = 0;
};

}  // namespace

void fail(std::string_view op, const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {}", op, message));
}

void check_defined(std::string_view op, std::initializer_list<Operand> operands) {
  for (const Operand& operand : operands) {
    if (!operand.tensor.defined()) fail(op, fmt::format("{} is undefined", operand.role));
  }
}

void check_same_device(std::string_view op, const Operand& a, const Operand& b) {
  if (&a.tensor.device() == &b.tensor.device()) return;
  fail(op, fmt::format("expected all tensors on one device, but {} is on {} and {} on {}", call(a),
                       a.tensor.device().name(), call(b), b.tensor.device().name()));
}

void check_alike(std::string_view op, std::initializer_list<Operand> operands) {
  const Operand& first = *operands.begin();
  if (!is_trainable(first.tensor.dtype())) {
    fail(op, fmt::format("{} is {}, but float32 or float64 is needed", call(first),
                         to_string(first.tensor.dtype())));
  }
  for (const Operand& operand : operands) {
    if (!operand.tensor.defined()) continue;
    check_same_device(op, first, operand);
    if (operand.tensor.dtype() != first.tensor.dtype()) {
      fail(op, fmt::format("{} is {}, but {} is {}", call(first), to_string(first.tensor.dtype()),
                           call(operand), to_string(operand.tensor.dtype())));
    }
  }
}

void check_same_shape(std::string_view op, const Operand& a, const Operand& b) {
  if (a.tensor.shape() == b.tensor.shape()) return;
  fail(op, fmt::format("{} {} and {} {} must have one shape", call(a), to_string(a.tensor.shape()),
                       call(b), to_string(b.tensor.shape())));
}

void check_rank(std::string_view op, const Operand& operand, std::size_t rank,
                std::string_view layout) {
  if (operand.tensor.shape().rank() == rank) return;
  fail(op,
       fmt::format("{} {} must be {}", call(operand), to_string(operand.tensor.shape()), layout));
}

void check_targets(std::string_view op, const Tensor& targets, const Tensor& logits) {
  check_defined(op, {{logits, "logits"}, {targets, "targets"}});
  check_alike(op, {{logits, "logits"}});
  check_same_device(op, {logits, "logits"}, {targets, "targets"});
  check_rank(op, {logits, "logits"}, 2, "[rows, classes]");
  if (targets.dtype() != DType::kInt64) {
    fail(op, fmt::format("targets are {}, but must be int64 class numbers",
                         to_string(targets.dtype())));
  }
  if (targets.shape() != Shape{logits.shape()[0]}) {
    fail(op, fmt::format("targets {} do not fit logits {}: one target per row is needed, {} in all",
                         to_string(targets.shape()), to_string(logits.shape()), logits.shape()[0]));
  }
  if (logits.shape()[1] == 0) {
    fail(op, fmt::format("logits {} have no classes", to_string(logits.shape())));
  }
}

void submit(Device& device, std::string_view name, std::string_view label, double flops,
            Operands reads, Operands writes, Launch&& launch) {
  const References read(reads);
  const References written(writes);
  OpInfo info;
  info.name = name;
  info.label = label;
  info.flops = flops;
  info.reads = read.span();
  info.writes = written.span();
  device.compute().submit(info, std::move(launch));
}

void submit_copy(Device& device, std::string_view name, std::string_view label, std::size_t bytes,
                 Operands reads, Operands writes, Launch&& launch) {
  const References read(reads);
  const References written(writes);
  OpInfo info;
  info.kind = OpKind::kCopy;
  info.name = name;
  info.label = label;
  info.bytes = bytes;
  info.reads = read.span();
  info.writes = written.span();
  device.compute().submit(info, std::move(launch));
}

std::string_view module_of(const Tensor& parameter) {
  if (!parameter.defined()) return {};
  const std::string_view name = parameter.name();
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

Tensor empty_activation(const Tensor& like, const Shape& shape) {
  return Tensor::empty(like.device(), shape, like.dtype(), MemoryKind::kActivations);
}

std::pmr::string gradient_name(Device& device, std::string_view parameter) {
  std::pmr::string name(parameter, &device.host_memory());
  if (!name.empty()) name += ".grad";
  return name;
}

Tensor empty_parameter_gradient(const Tensor& parameter) {
  return Tensor::empty(parameter.device(), parameter.shape(), parameter.dtype(),
                       MemoryKind::kGradients, gradient_name(parameter.device(), parameter.name()));
}

bool records_graph(const Device& device, std::initializer_list<const Tensor*> inputs) {
  return device.context().grad_enabled &&
         std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) {
           return input->defined() && input->requires_grad();
         });
}

void attach(Tensor& result, std::shared_ptr<Node> node,
            std::initializer_list<const Tensor*> inputs) {
  for (const Tensor* input : inputs) {
    node->next().push_back(input->defined() ? input->gradient_edge() : Edge());
  }
  result.set_grad_fn(std::move(node), 0);
}

}  // namespace ringside
