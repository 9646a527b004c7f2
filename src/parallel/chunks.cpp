#include "parallel/chunks.h"

#include <algorithm>

#include "tensor/strips.h"

namespace ringside {
namespace {

enum class Way { kPack, kUnpack };

/// The copies between a whole tensor and its parts: each part is as many strips of its own width.
void copy_parts(Way way, const Tensor& destination, const Tensor& source, const Shape& whole,
                int dim, const std::vector<std::int64_t>& sizes) {
  const Strips strips(whole, dim, source.dtype());
  const std::size_t whole_row = strips.inner_bytes * static_cast<std::size_t>(whole[dim]);
  const TensorRef reads[] = {{source.name(), &source.array()}};
  const TensorRef writes[] = {{destination.name(), &destination.array()}};
  OpInfo info;
  info.kind = OpKind::kCompute;
  info.name = way == Way::kPack ? "pack-chunks" : "unpack-chunks";
  info.bytes = source.bytes();
  info.reads = reads;
  info.writes = writes;
  source.device().compute().submit(
      info, [=, to = destination.array(), from = source.array()](LaunchContext& context) {
        std::size_t whole_offset = 0;
        std::size_t packed_offset = 0;
        for (const std::int64_t size : sizes) {
          const std::size_t row = strips.inner_bytes * static_cast<std::size_t>(size);
          if (way == Way::kPack) {
            context.kernels.copy_rows(context, to, packed_offset, row, from, whole_offset,
                                      whole_row, row, strips.outer);
          } else {
            context.kernels.copy_rows(context, to, whole_offset, whole_row, from, packed_offset,
                                      row, row, strips.outer);
          }
          whole_offset += row;
          packed_offset += row * strips.outer;
        }
      });
}

}  // namespace

std::vector<std::int64_t> chunk_sizes(std::int64_t rows, int chunks) {
  if (rows == 0) return std::vector<std::int64_t>(static_cast<std::size_t>(chunks), 0);
  const std::int64_t length = (rows + chunks - 1) / chunks;
  std::vector<std::int64_t> sizes;
  for (std::int64_t begin = 0; begin < rows; begin += length) {
    sizes.push_back(std::min(length, rows - begin));
  }
  return sizes;
}

std::vector<std::size_t> chunk_counts(const Shape& shape, int dim,
                                      const std::vector<std::int64_t>& sizes) {
  std::vector<std::size_t> counts;
  counts.reserve(sizes.size());
  for (const std::int64_t size : sizes) {
    counts.push_back(static_cast<std::size_t>(shape.with(dim, size).numel()));
  }
  return counts;
}

Tensor pack_chunks(const Tensor& tensor, int dim, const std::vector<std::int64_t>& sizes,
                   MemoryKind kind) {
  if (dim == 0) return tensor;
  Tensor packed =
      Tensor::empty(tensor.device(), Shape{tensor.numel()}, tensor.dtype(), kind, tensor.name());
  copy_parts(Way::kPack, packed, tensor, tensor.shape(), dim, sizes);
  return packed;
}

Tensor unpack_chunks(const Tensor& packed, const Shape& shape, int dim,
                     const std::vector<std::int64_t>& sizes, MemoryKind kind,
                     const std::string& name) {
  if (dim == 0) {
    return Tensor::view(packed.device(), packed.buffer(), packed.array().offset, shape,
                        packed.dtype(), name);
  }
  Tensor whole = Tensor::empty(packed.device(), shape, packed.dtype(), kind, name);
  copy_parts(Way::kUnpack, whole, packed, shape, dim, sizes);
  return whole;
}

}  // namespace ringside
