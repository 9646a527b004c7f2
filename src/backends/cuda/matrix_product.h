// A row-major matrix product as cuBLAS wants it. Pure; needs no GPU.
//
// cuBLAS is column-major: to it, row-major c[m,n] is its own transpose. Hence it is asked for
// cᵀ = op(b)ᵀ op(a)ᵀ: the operands change places, and each is transposed where it was to be.
#pragma once

#include <cstdint>

namespace ringside::cuda {

/// A row-major operand: op(matrix) is the matrix or its transpose; rows lie `stride` elements
/// apart.
struct RowMajor {
  std::int64_t stride = 0;
  bool transpose = false;
};

/// The sizes that cublasSgemm takes; its first operand is `b`, its second `a`.
struct ColumnMajorProduct {
  std::int64_t m, n, k;
  bool transpose_first, transpose_second;
  std::int64_t first_stride, second_stride, result_stride;

  bool operator==(const ColumnMajorProduct&) const = default;
};

/// c[m,n] = op(a)[m,k] op(b)[k,n], all row-major, c's rows n apart.
constexpr ColumnMajorProduct column_major(std::int64_t m, std::int64_t n, std::int64_t k,
                                          const RowMajor& a, const RowMajor& b) {
  return {n, m, k, b.transpose, a.transpose, b.stride, a.stride, n};
}

}  // namespace ringside::cuda
