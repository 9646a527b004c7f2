// What all operators share: checks whose messages name the operator and both sides, the door to the
// device, and the making of graph nodes.
#pragma once

#include <initializer_list>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>

#include "ringside/error.h"
#include "ringside/tensor.h"

namespace ringside {

/// A tensor and its role in an operator: "input", "weight". Its own name goes before the role.
struct Operand {
  const Tensor& tensor;
  std::string_view role;
};

// ---- checks: each throws Error(kInvalidArgument) that begins with the operator's name

void check_defined(std::string_view op, std::initializer_list<Operand> operands);
/// All (defined) operands lie on one device and have one floating dtype.
void check_alike(std::string_view op, std::initializer_list<Operand> operands);
void check_same_device(std::string_view op, const Operand& a, const Operand& b);
void check_same_shape(std::string_view op, const Operand& a, const Operand& b);
/// `layout` shows the dimensions: "[rows, in]".
void check_rank(std::string_view op, const Operand& operand, std::size_t rank,
                std::string_view layout);
/// `operand` is int64 of shape [rows].
void check_targets(std::string_view op, const Tensor& targets, const Tensor& logits);
/// "linear: " + message.
[[noreturn]] void fail(std::string_view op, const std::string& message);

// ---- the door

/// The reads and writes of one op; undefined tensors are left out.
using Operands = std::initializer_list<Operand>;

/// Submits a compute op to the compute stream of `device`.
void submit(Device& device, std::string_view name, std::string_view label, double flops,
            Operands reads, Operands writes, Launch&& launch);
/// Submits a copy op of `bytes` to the compute stream.
void submit_copy(Device& device, std::string_view name, std::string_view label, std::size_t bytes,
                 Operands reads, Operands writes, Launch&& launch);

/// The module that a parameter belongs to: "conv1" of "conv1.weight", empty of "weight".
std::string_view module_of(const Tensor& parameter);

// ---- results and gradients

/// Uninitialised, on `like`'s device and in its dtype: a result, or an activation's gradient.
Tensor empty_activation(const Tensor& like, const Shape& shape);
/// "<parameter>.grad", or nothing for a parameter without a name.
std::pmr::string gradient_name(Device& device, std::string_view parameter);
/// Uninitialised, for the gradient of a parameter, and called so.
Tensor empty_parameter_gradient(const Tensor& parameter);

/// True if a result of these (defined) inputs belongs to the graph.
bool records_graph(const Device& device, std::initializer_list<const Tensor*> inputs);
/// Makes `result` the output of a new node whose next edges are the gradient edges of `inputs`, in
/// that order.
void attach(Tensor& result, std::shared_ptr<Node> node,
            std::initializer_list<const Tensor*> inputs);
/// A node in the memory that `device` keeps for such objects.
template <typename N, typename... Arguments>
std::shared_ptr<N> make_node(Device& device, Arguments&&... arguments) {
  return std::allocate_shared<N>(std::pmr::polymorphic_allocator<>(&device.host_memory()),
                                 std::forward<Arguments>(arguments)...);
}
/// A tensor as nodes save it, or an undefined one if it is not needed.
inline Tensor saved(const Tensor& tensor, bool needed = true) {
  return needed && tensor.defined() ? tensor.detach() : Tensor();
}

}  // namespace ringside
