// Tensor: an array on a device with, when asked for, a place in the autograd graph. The operators
// on tensors.
//
// A Tensor is a handle: copies share the array. All tensors are contiguous. Operators enqueue on
// their device's compute stream and return at once; values are read with host_values. Tape
// autograd: an operator whose inputs require grad (and whose device has grad enabled) makes a Node;
// backward() runs nodes by descending sequence number, gradient accumulators first, so that
// gradients get ready in PyTorch's order (a Linear's bias before its weight).
//
// tensor/ never includes comm: nodes are open, and parallel/ adds its own (Scatter, Broadcast,
// Gather). Threads: a graph belongs to the host thread that drives its devices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ringside/device.h"
#include "ringside/inline_vector.h"
#include "ringside/kernels.h"

namespace ringside {

class Node;
class Tensor;

/// Where a gradient goes: input number `input` of `node`.
struct Edge {
  std::shared_ptr<Node> node;
  int input = 0;
};

class Tensor {
 public:
  /// An undefined tensor (PyTorch's None).
  Tensor() = default;
  /// Uninitialised. Throws Error(kOutOfMemory).
  static Tensor empty(Device& device, const Shape& shape, DType dtype, MemoryKind kind,
                      std::string_view name = {});
  static Tensor full(Device& device, const Shape& shape, DType dtype, double value, MemoryKind kind,
                     std::string_view name = {});
  /// Copies host values (converted to `dtype`) to the device; a recorded copy op. The values are
  /// staged: the caller may reuse them at once.
  static Tensor from_host(Device& device, const Shape& shape, DType dtype,
                          std::span<const double> values, MemoryKind kind,
                          std::string_view name = {});
  /// The same from the bytes of the values in `dtype`, which arrive as they are.
  static Tensor from_host_bytes(Device& device, const Shape& shape, DType dtype,
                                std::span<const std::byte> bytes, MemoryKind kind,
                                std::string_view name = {});
  /// A tensor over part of an existing buffer (`offset` in bytes): DDP's bucket views, reshapes.
  static Tensor view(Device& device, const Buffer& buffer, std::size_t offset, const Shape& shape,
                     DType dtype, std::string_view name = {});

  bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const { return defined(); }

  Device& device() const;
  const Shape& shape() const;
  DType dtype() const;
  std::int64_t numel() const { return shape().numel(); }
  std::size_t bytes() const { return array().bytes(); }
  const Buffer& buffer() const;
  /// The array for launches, kernels and communicators.
  const DeviceArray& array() const;
  /// Valid until the tensor is renamed, or gone.
  std::string_view name() const;
  void set_name(std::string_view name);

  bool requires_grad() const;
  void set_requires_grad(bool requires_grad);
  /// Null for leaves.
  const std::shared_ptr<Node>& grad_fn() const;
  /// Makes this tensor an output of `node` (for operators and for parallel/'s nodes).
  void set_grad_fn(std::shared_ptr<Node> node, int output);
  /// Where this tensor's gradient goes: its grad_fn, or the accumulator of a leaf that requires
  /// grad (one per leaf, alive as long as the leaf); an empty Edge otherwise.
  Edge gradient_edge() const;

  /// Undefined until backward has reached this leaf.
  Tensor grad() const;
  void set_grad(Tensor grad);
  /// Called by the accumulator after each accumulation into grad, in the order in which hooks were
  /// added (DDP's). `owner` is by whom they are removed.
  void add_accumulate_hook(const void* owner, std::function<void(Tensor&)> hook);
  void remove_accumulate_hooks(const void* owner);

  /// Shares the array, without a place in the graph.
  Tensor detach() const;
  /// True if another handle shares this tensor or its allocation: then it must not be stolen or
  /// written in place.
  bool shared() const;
  bool same(const Tensor& other) const { return impl_ == other.impl_; }

 private:
  friend class Accumulator;
  struct Impl;
  explicit Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// Of the outputs or inputs of a node.
using Gradients = InlineVector<Tensor, 4>;

/// A step of the graph, run backwards.
class Node {
 public:
  /// `name` is a literal or longer-lived.
  explicit Node(std::string_view name, std::size_t outputs = 1);
  /// Never recurses, however deep the graph. A node must hold other nodes in next() only: it saves
  /// detached tensors.
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  /// From the gradients of its outputs (undefined where none arrived) the gradients of its inputs,
  /// one per next edge (undefined = none).
  virtual Gradients backward(Gradients gradients) = 0;
  /// Lets go of what was saved for backward; called after backward ran.
  virtual void release() {}

  std::string_view name() const { return name_; }
  /// Later nodes have higher numbers; accumulators have the highest of all.
  std::uint64_t sequence() const { return sequence_; }
  InlineVector<Edge, 4>& next() { return next_; }
  std::size_t outputs() const { return outputs_; }

 protected:
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }

 private:
  friend class BackwardPass;
  std::string_view name_;
  std::uint64_t sequence_;  // per thread, ascending
  InlineVector<Edge, 4> next_;
  std::size_t outputs_;
  bool released_ = false;  // backward has run
};

/// Runs the graph backwards from `root` (a scalar, or `gradient` given in root's shape) into the
/// leaves' grad. A node runs when all gradients it waits for have come; among ready nodes the
/// highest sequence number first. Saved tensors are released. Throws Error(kInvalidArgument) for a
/// root without graph, a non-scalar root without gradient, or a second backward. `finished` runs
/// after the last node (DDP's end-of-backward callback).
void backward(const Tensor& root, const Tensor& gradient = {},
              const std::function<void()>& finished = {});

// ---------------------------------------------------------------- operators (differentiable unless
// said)

/// x [B,in] · weightᵀ [out,in] + bias [out]; bias may be undefined.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
Tensor relu(const Tensor& x);
Tensor tanh(const Tensor& x);
/// x Φ(x), by the error function.
Tensor gelu(const Tensor& x);
/// Zeroes each element with probability p and divides the others by 1 - p; which ones is a function
/// of `key` and the element's index alone (Device::next_random_key). Saves nothing: backward draws
/// the same numbers again. Throws for p outside [0, 1].
Tensor dropout(const Tensor& x, double p, const RandomKey& key);
/// A view with dimensions from `start_dim` on joined.
Tensor flatten(const Tensor& x, std::int64_t start_dim = 1);
Tensor reshape(const Tensor& x, const Shape& shape);
/// x [B,C,H,W], weight [O,C,kh,kw], bias [O] or undefined.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options);
Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options);
Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options);
/// Rows of weight [rows, width]: indices int64 of any shape gives that shape with width appended.
/// An index outside [0, rows) is an asynchronous error.
Tensor embedding(const Tensor& indices, const Tensor& weight);
/// x [B,T,width] + weight[t,:] at position t; weight [context,width], T <= context.
Tensor add_positions(const Tensor& x, const Tensor& weight);
/// A fused projection x [B,T,parts*heads*depth] as `parts` tensors [B,heads,T,depth] (query, key
/// and value).
std::vector<Tensor> split_heads(const Tensor& x, std::int64_t parts, std::int64_t heads);
/// x [B,heads,T,depth] as [B,T,heads*depth].
Tensor merge_heads(const Tensor& x);
/// softmax(q kᵀ / sqrt(depth)) v per head: q [B,heads,T,depth], k and v [B,heads,S,depth].
/// `causal`: query t sees keys 0 to t only. [torch.nn.functional.scaled_dot_product_attention]
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, bool causal);
/// Over the last dimension; weight and bias have its size.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon);
/// Training: batch statistics, moves running ones. One value per channel when training raises
/// PyTorch's error.
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_variance, bool training,
                  double momentum, double epsilon);
/// How the ranks that normalise together exchange values. All functions enqueue, in the order of
/// the compute stream; parallel/ makes one from a communicator.
struct RankExchange {
  int ranks = 1;
  std::function<Tensor(const Tensor& own)> gather;  ///< [n] of each rank as [ranks, n]
  std::function<void(const Tensor& values)> sum;    ///< over ranks, in place
};
/// batch_norm in training with the statistics of all ranks; backward sums over ranks, too, so that
/// all must call both. The gradients of weight and bias are this rank's own. Throws
/// Error(kInvalidArgument) for one value per channel on a single rank.
/// [torch/nn/modules/_functions.py, SyncBatchNorm]
Tensor sync_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Tensor& running_mean, const Tensor& running_variance, double momentum,
                       double epsilon, const std::shared_ptr<const RankExchange>& exchange);
/// logits [B,C], targets int64 [B]. The mean over rows that are not ignored, or the sum, is of
/// shape {1}; the mean of no rows is NaN, as in PyTorch. Without a reduction {B}. A target outside
/// [0,C) is an asynchronous error that names row, value and classes. Throws for a smoothing outside
/// [0, 1]. [torch.nn.functional.cross_entropy]
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});
Tensor mse_loss(const Tensor& x, const Tensor& y);
Tensor add(const Tensor& a, const Tensor& b);
Tensor scale(const Tensor& a, double factor);
/// {1}: the sum of all elements, in their order.
Tensor sum(const Tensor& a);
/// Concatenation along `dim`, all on one device. Not differentiable (parallel/'s Gather is).
Tensor concatenate(std::span<const Tensor> parts, std::int64_t dim, MemoryKind kind,
                   std::string_view name = {});
/// Rows [begin, end) of dimension `dim`, copied. Not differentiable.
Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t begin, std::int64_t end,
             MemoryKind kind, std::string_view name = {});
/// int64 {1}: rows whose largest logit is the target. Not differentiable.
Tensor count_correct(const Tensor& logits, const Tensor& targets);

/// out += a, enqueued; shapes must agree. Not differentiable.
void add_in_place(Tensor& out, const Tensor& a);
/// destination's elements = source's; same device; a recorded copy. Not differentiable.
void copy_in_place(Tensor& destination, const Tensor& source);
void fill_in_place(Tensor& out, double value);

/// All values, converted to double; blocks the host. On meta returns `healthy` for every element.
std::vector<double> host_values(const Tensor& tensor, double healthy = 0);
/// All values as the bytes that they have in their dtype; blocks the host. Zeros on meta.
std::vector<std::byte> host_bytes(const Tensor& tensor);
/// The value of a one-element tensor; the one way for host code to look at device values.
double host_value(const Tensor& tensor, double healthy);

}  // namespace ringside
