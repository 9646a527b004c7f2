// Operators that rearrange: reshape and flatten (views, no op), concatenate and slice (copies).
#include <fmt/format.h>

#include "tensor/operator.h"
#include "tensor/strips.h"

namespace ringside {
namespace {

Tensor view_of(const Tensor& x, const Shape& shape) {
  return Tensor::view(x.device(), x.buffer(), x.array().offset, shape, x.dtype(), x.name());
}

class ReshapeBackward final : public Node {
 public:
  explicit ReshapeBackward(const Shape& shape) : Node("reshape-backward"), shape_(shape) {}
  Gradients backward(Gradients gradients) override { return {view_of(gradients.front(), shape_)}; }

 private:
  Shape shape_;
};

/// `dim` counted from the front. Throws for one that `tensor` does not have.
std::int64_t dimension(std::string_view op, const Tensor& tensor, std::int64_t dim) {
  const auto rank = static_cast<std::int64_t>(tensor.shape().rank());
  if (dim < -rank || dim >= rank) {
    fail(op,
         fmt::format("dimension {} is out of range for shape {}", dim, to_string(tensor.shape())));
  }
  return dim < 0 ? dim + rank : dim;
}

/// Copies `count` indices of dimension `dim`, from `source_begin` of `source` to
/// `destination_begin` of `destination`.
Launch copy_block(const Tensor& destination, std::int64_t destination_begin, const Tensor& source,
                  std::int64_t source_begin, std::int64_t count, std::int64_t dim) {
  const Strips strips(source.shape(), dim, source.dtype());
  return
      [to = destination.array(), from = source.array(), strips,
       to_offset = static_cast<std::size_t>(destination_begin) * strips.inner_bytes,
       to_pitch = static_cast<std::size_t>(destination.shape()[dim]) * strips.inner_bytes,
       from_offset = static_cast<std::size_t>(source_begin) * strips.inner_bytes,
       from_pitch = static_cast<std::size_t>(source.shape()[dim]) * strips.inner_bytes,
       row_bytes = static_cast<std::size_t>(count) * strips.inner_bytes](LaunchContext& context) {
        context.kernels.copy_rows(context, to, to_offset, to_pitch, from, from_offset, from_pitch,
                                  row_bytes, strips.outer);
      };
}

Shape concatenated_shape(std::span<const Tensor> parts, std::int64_t dim) {
  constexpr std::string_view kOp = "concatenate";
  const Tensor& first = parts.front();
  std::int64_t total = 0;
  for (const Tensor& part : parts) {
    check_defined(kOp, {{part, "part"}});
    check_same_device(kOp, {first, "first part"}, {part, "part"});
    const bool fits = part.dtype() == first.dtype() &&
                      part.shape().rank() == first.shape().rank() &&
                      part.shape().with(dim, 0) == first.shape().with(dim, 0);
    if (!fits) {
      fail(kOp, fmt::format("part {} {} does not fit the first part {} {}: only dimension {} may "
                            "differ",
                            to_string(part.dtype()), to_string(part.shape()),
                            to_string(first.dtype()), to_string(first.shape()), dim));
    }
    total += part.shape()[dim];
  }
  return first.shape().with(dim, total);
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  check_defined("reshape", {{x, "input"}});
  if (shape.numel() != x.numel()) {
    fail("reshape", fmt::format("shape {} is invalid for input {} of {} elements", to_string(shape),
                                to_string(x.shape()), x.numel()));
  }
  Tensor y = view_of(x, shape);
  if (records_graph(x.device(), {&x})) {
    attach(y, make_node<ReshapeBackward>(x.device(), x.shape()), {&x});
  }
  return y;
}

Tensor flatten(const Tensor& x, std::int64_t start_dim) {
  check_defined("flatten", {{x, "input"}});
  const std::int64_t first = dimension("flatten", x, start_dim);
  const auto sizes = x.shape().sizes();
  if (first + 1 == static_cast<std::int64_t>(sizes.size())) return x;
  InlineVector<std::int64_t, Shape::kMaxRank> flat;
  for (const std::int64_t size : sizes.first(static_cast<std::size_t>(first))) flat.push_back(size);
  std::int64_t joined = 1;
  for (const std::int64_t size : sizes.subspan(static_cast<std::size_t>(first))) joined *= size;
  flat.push_back(joined);
  return reshape(x, Shape(std::span<const std::int64_t>(flat)));
}

Tensor concatenate(std::span<const Tensor> parts, std::int64_t dim, MemoryKind kind,
                   std::string_view name) {
  constexpr std::string_view kOp = "concatenate";
  if (parts.empty()) fail(kOp, "there are no parts");
  check_defined(kOp, {{parts.front(), "first part"}});
  dim = dimension(kOp, parts.front(), dim);
  const Shape shape = concatenated_shape(parts, dim);
  Tensor whole = Tensor::empty(parts.front().device(), shape, parts.front().dtype(), kind, name);
  std::vector<Launch> copies;
  std::vector<TensorRef> reads;
  std::int64_t begin = 0;
  for (const Tensor& part : parts) {
    copies.push_back(copy_block(whole, begin, part, 0, part.shape()[dim], dim));
    reads.push_back({part.name().empty() ? std::string_view("part") : part.name(), &part.array()});
    begin += part.shape()[dim];
  }
  const TensorRef write{whole.name().empty() ? std::string_view("output") : whole.name(),
                        &whole.array()};
  OpInfo info;
  info.kind = OpKind::kCopy;
  info.name = "concatenate";
  info.label = whole.name();
  info.bytes = whole.bytes();
  info.reads = reads;
  info.writes = {&write, 1};
  whole.device().compute().submit(info, [copies = std::move(copies)](LaunchContext& context) {
    for (const Launch& copy : copies) copy(context);
  });
  return whole;
}

Tensor slice(const Tensor& x, std::int64_t dim, std::int64_t begin, std::int64_t end,
             MemoryKind kind, std::string_view name) {
  check_defined("slice", {{x, "input"}});
  dim = dimension("slice", x, dim);
  if (begin < 0 || begin > end || end > x.shape()[dim]) {
    fail("slice", fmt::format("[{}, {}) is not within dimension {} of shape {}", begin, end, dim,
                              to_string(x.shape())));
  }
  Tensor part = Tensor::empty(x.device(), x.shape().with(dim, end - begin), x.dtype(), kind, name);
  submit_copy(x.device(), "slice", part.name(), part.bytes(), {{x, "input"}}, {{part, "output"}},
              copy_block(part, 0, x, begin, end - begin, dim));
  return part;
}

}  // namespace ringside
