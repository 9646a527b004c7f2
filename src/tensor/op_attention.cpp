// split_heads, merge_heads and scaled_dot_product_attention.
//
// Attention is one op each way; the probabilities are kept for backward (as PyTorch's plain
// implementation does; its flash kernels compute them again).
#include <fmt/format.h>

#include <algorithm>

#include "tensor/operator.h"

namespace ringside {
namespace {

// ---------------------------------------------------------------- heads

/// Where part `part` of a fused projection [B,T,parts*heads*depth] lies, and how its heads are cut.
struct HeadLayout {
  std::int64_t batch, positions, parts, heads, depth;

  Shape fused() const { return {batch, positions, parts * heads * depth}; }
  Shape split() const { return {batch, heads, positions, depth}; }

  /// Calls block(offset in the fused array, offset in the split one) for each head of each sample:
  /// a block of `positions` rows of `depth` elements. Offsets are in elements.
  template <typename Block>
  void for_each_head(std::int64_t part, const Block& block) const {
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        block((b * positions * parts + part) * heads * depth + h * depth,
              (b * heads + h) * positions * depth);
      }
    }
  }
};

enum class HeadsDirection : bool { kSplit, kMerge };

/// Copies part `part` between `fused` and `split`.
void copy_heads(LaunchContext& context, const HeadLayout& layout, std::int64_t part,
                const DeviceArray& fused, const DeviceArray& split, HeadsDirection direction) {
  const std::size_t element = size_of(fused.dtype);
  const auto bytes = [element](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * element;
  };
  const std::size_t row = bytes(layout.depth);
  const std::size_t pitch = bytes(layout.parts * layout.heads * layout.depth);
  const auto rows = static_cast<std::size_t>(layout.positions);
  layout.for_each_head(part, [&](std::int64_t in_fused, std::int64_t in_split) {
    if (direction == HeadsDirection::kSplit) {
      context.kernels.copy_rows(context, split, bytes(in_split), row, fused, bytes(in_fused), pitch,
                                row, rows);
    } else {
      context.kernels.copy_rows(context, fused, bytes(in_fused), pitch, split, bytes(in_split), row,
                                row, rows);
    }
  });
}

/// All parts in one op; a part without a tensor reads as zeros.
Tensor merge_parts(std::string_view name, const HeadLayout& layout, std::span<const Tensor> parts,
                   const Tensor& like) {
  Tensor fused = empty_activation(like, layout.fused());
  std::vector<DeviceArray> arrays;
  std::vector<TensorRef> reads;
  bool complete = true;
  for (const Tensor& part : parts) {
    arrays.push_back(part.defined() ? part.array() : DeviceArray());
    complete = complete && part.defined();
    if (part.defined()) reads.push_back({"part", &part.array()});
  }
  const TensorRef write{"output", &fused.array()};
  OpInfo info;
  info.kind = OpKind::kCopy;
  info.name = name;
  info.bytes = fused.bytes();
  info.reads = reads;
  info.writes = {&write, 1};
  fused.device().compute().submit(
      info, [layout, complete, to = fused.array(), arrays](LaunchContext& context) {
        if (!complete) context.kernels.fill(context, to, 0);
        for (std::size_t part = 0; part < arrays.size(); ++part) {
          if (arrays[part].empty()) continue;
          copy_heads(context, layout, static_cast<std::int64_t>(part), to, arrays[part],
                     HeadsDirection::kMerge);
        }
      });
  return fused;
}

std::vector<Tensor> split_parts(std::string_view name, const HeadLayout& layout, const Tensor& x) {
  std::vector<Tensor> parts;
  std::vector<DeviceArray> arrays;
  std::vector<TensorRef> writes;
  for (std::int64_t part = 0; part < layout.parts; ++part) {
    parts.push_back(empty_activation(x, layout.split()));
    arrays.push_back(parts.back().array());
  }
  for (const DeviceArray& array : arrays) writes.push_back({"part", &array});
  const TensorRef read{x.name().empty() ? std::string_view("input") : x.name(), &x.array()};
  OpInfo info;
  info.kind = OpKind::kCopy;
  info.name = name;
  info.bytes = x.bytes();
  info.reads = {&read, 1};
  info.writes = writes;
  x.device().compute().submit(info, [layout, from = x.array(), arrays](LaunchContext& context) {
    for (std::size_t part = 0; part < arrays.size(); ++part) {
      copy_heads(context, layout, static_cast<std::int64_t>(part), from, arrays[part],
                 HeadsDirection::kSplit);
    }
  });
  return parts;
}

class SplitHeadsBackward final : public Node {
 public:
  explicit SplitHeadsBackward(const HeadLayout& layout)
      : Node("split-heads-backward", static_cast<std::size_t>(layout.parts)), layout_(layout) {}
  Gradients backward(Gradients gradients) override {
    const auto given = std::find_if(gradients.begin(), gradients.end(),
                                    [](const Tensor& gradient) { return gradient.defined(); });
    return {merge_parts("split-heads-backward", layout_, gradients, *given)};
  }

 private:
  HeadLayout layout_;
};

class MergeHeadsBackward final : public Node {
 public:
  explicit MergeHeadsBackward(const HeadLayout& layout)
      : Node("merge-heads-backward"), layout_(layout) {}
  Gradients backward(Gradients gradients) override {
    return Gradients(split_parts("merge-heads-backward", layout_, gradients.front()));
  }

 private:
  HeadLayout layout_;
};

// ---------------------------------------------------------------- attention

constexpr std::string_view kAttention = "scaled_dot_product_attention";

/// Two products of T x S x depth per head forward, four backward; and about five operations for
/// each score.
double attention_flops(const Tensor& q, const Tensor& k, double products) {
  const auto scores = static_cast<double>(q.shape()[0] * q.shape()[1] * q.shape()[2]) *
                      static_cast<double>(k.shape()[2]);
  return scores * (2 * products * static_cast<double>(q.shape()[3]) + 5);
}

class AttentionBackward final : public Node {
 public:
  AttentionBackward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& probabilities)
      : Node("attention-backward"),
        q_(saved(q)),
        k_(saved(k)),
        v_(saved(v)),
        probabilities_(saved(probabilities)) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    Tensor dq = empty_activation(q_, q_.shape());
    Tensor dk = empty_activation(k_, k_.shape());
    Tensor dv = empty_activation(v_, v_.shape());
    submit(dy.device(), "attention-backward", {}, attention_flops(q_, k_, 4),
           {{dy, "grad-output"},
            {probabilities_, "probabilities"},
            {q_, "query"},
            {k_, "key"},
            {v_, "value"}},
           {{dq, "grad-query"}, {dk, "grad-key"}, {dv, "grad-value"}},
           [out_q = dq.array(), out_k = dk.array(), out_v = dv.array(), gradient = dy.array(),
            p = probabilities_.array(), q = q_.array(), k = k_.array(),
            v = v_.array()](LaunchContext& context) {
             context.kernels.attention_backward(context, out_q, out_k, out_v, gradient, p, q, k, v);
           });
    return {dq, dk, dv};
  }

  void release() override { q_ = k_ = v_ = probabilities_ = Tensor(); }

 private:
  Tensor q_, k_, v_, probabilities_;
};

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  check_defined(kAttention, {{q, "query"}, {k, "key"}, {v, "value"}});
  check_alike(kAttention, {{q, "query"}, {k, "key"}, {v, "value"}});
  for (const Operand& operand : {Operand{q, "query"}, Operand{k, "key"}, Operand{v, "value"}}) {
    check_rank(kAttention, operand, 4, "[batch, heads, positions, depth]");
  }
  check_same_shape(kAttention, {k, "key"}, {v, "value"});
  if (q.shape().with(2, 0) != k.shape().with(2, 0)) {
    fail(kAttention, fmt::format("query {} and key {} may differ in the number of positions only",
                                 to_string(q.shape()), to_string(k.shape())));
  }
}

}  // namespace

std::vector<Tensor> split_heads(const Tensor& x, std::int64_t parts, std::int64_t heads) {
  check_defined("split_heads", {{x, "input"}});
  check_alike("split_heads", {{x, "input"}});
  check_rank("split_heads", {x, "input"}, 3, "[batch, positions, width]");
  if (parts < 1 || heads < 1 || x.shape()[2] % (parts * heads) != 0) {
    fail("split_heads", fmt::format("width {} of input {} is not divisible by {} parts of {} heads",
                                    x.shape()[2], to_string(x.shape()), parts, heads));
  }
  const HeadLayout layout{x.shape()[0], x.shape()[1], parts, heads, x.shape()[2] / (parts * heads)};
  std::vector<Tensor> results = split_parts("split-heads", layout, x);
  if (records_graph(x.device(), {&x})) {
    const auto node = make_node<SplitHeadsBackward>(x.device(), layout);
    node->next().push_back(x.gradient_edge());
    for (std::size_t part = 0; part < results.size(); ++part) {
      results[part].set_grad_fn(node, static_cast<int>(part));
    }
  }
  return results;
}

Tensor merge_heads(const Tensor& x) {
  check_defined("merge_heads", {{x, "input"}});
  check_alike("merge_heads", {{x, "input"}});
  check_rank("merge_heads", {x, "input"}, 4, "[batch, heads, positions, depth]");
  const Shape& shape = x.shape();
  const HeadLayout layout{shape[0], shape[2], 1, shape[1], shape[3]};
  Tensor y = merge_parts("merge-heads", layout, {&x, 1}, x);
  if (records_graph(x.device(), {&x})) {
    attach(y, make_node<MergeHeadsBackward>(x.device(), layout), {&x});
  }
  return y;
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    bool causal) {
  check_attention(q, k, v);
  const Shape& shape = q.shape();
  Tensor y = empty_activation(q, shape);
  const Tensor probabilities = empty_activation(q, {shape[0], shape[1], shape[2], k.shape()[2]});
  submit(q.device(), "attention", {}, attention_flops(q, k, 2),
         {{q, "query"}, {k, "key"}, {v, "value"}},
         {{y, "output"}, {probabilities, "probabilities"}},
         [out = y.array(), p = probabilities.array(), query = q.array(), key = k.array(),
          value = v.array(), causal](LaunchContext& context) {
           context.kernels.attention(context, out, p, query, key, value, causal);
         });
  if (records_graph(q.device(), {&q, &k, &v})) {
    attach(y, make_node<AttentionBackward>(q.device(), q, k, v, probabilities), {&q, &k, &v});
  }
  return y;
}

}  // namespace ringside
