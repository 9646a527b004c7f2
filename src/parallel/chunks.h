// How DataParallel cuts a batch: torch.chunk's sizes, and parts laid one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ringside/tensor.h"

namespace ringside {

/// torch.empty(rows).chunk(chunks): ceil(rows / chunks) rows each, the last one the rest, so that
/// there can be fewer than `chunks`; 0 rows give `chunks` empty ones. [nn/parallel/comm.py; aten
/// chunk]
std::vector<std::int64_t> chunk_sizes(std::int64_t rows, int chunks);

/// `tensor` cut along `dim` into parts of `sizes`, laid one after the other in a new
/// one-dimensional tensor; along the first dimension they already lie so, and the tensor itself
/// comes back.
Tensor pack_chunks(const Tensor& tensor, int dim, const std::vector<std::int64_t>& sizes,
                   MemoryKind kind);

/// The inverse: a tensor of `shape` from its parts along `dim`, laid one after the other in
/// `packed`.
Tensor unpack_chunks(const Tensor& packed, const Shape& shape, int dim,
                     const std::vector<std::int64_t>& sizes, MemoryKind kind,
                     const std::string& name);

/// Elements of each part of a tensor of `shape` that is cut along `dim`.
std::vector<std::size_t> chunk_counts(const Shape& shape, int dim,
                                      const std::vector<std::int64_t>& sizes);

}  // namespace ringside
