// The matrix product as plain loops, for where no library serves, and under the sanitizers.
//
// Works on tiles of op(b) that stay in the cache and are packed row by row, so that the innermost
// loop runs over contiguous memory for either transposition. Each element of c sums its k products
// in ascending order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tensor/gemm.h"

namespace ringside::gemm_loops {

inline constexpr std::int64_t kTileRows = 64;      // of op(b): elements of the sum taken together
inline constexpr std::int64_t kTileColumns = 128;  // of op(b) and c

template <typename T>
using Tile = std::array<T, kTileRows * kTileColumns>;

/// tile[p, j] = op(b)[first_row + p, first_column + j], rows kTileColumns apart.
template <typename T>
void pack(Tile<T>& tile, const MatrixOperand<T>& b, std::int64_t first_row,
          std::int64_t first_column, std::int64_t rows, std::int64_t columns) {
  const std::int64_t row_step = b.transpose ? 1 : b.stride;
  const std::int64_t column_step = b.transpose ? b.stride : 1;
  const T* corner = b.data + first_row * row_step + first_column * column_step;
  for (std::int64_t p = 0; p < rows; ++p) {
    for (std::int64_t j = 0; j < columns; ++j) {
      tile[p * kTileColumns + j] = corner[p * row_step + j * column_step];
    }
  }
}

/// c_row[j] += sum over p of a[p] * tile[p, j]; a's elements are `a_step` apart.
template <typename T>
void add_row_times_tile(T* __restrict c_row, const T* __restrict a, std::int64_t a_step, T alpha,
                        const Tile<T>& tile, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t p = 0; p < rows; ++p) {
    const T factor = alpha * a[p * a_step];
    const T* __restrict tile_row = tile.data() + p * kTileColumns;
    for (std::int64_t j = 0; j < columns; ++j) c_row[j] += factor * tile_row[j];
  }
}

template <typename T>
void scale_rows(T* c, std::int64_t count, T beta) {
  if (beta == T(0)) {
    std::fill(c, c + count, T(0));
  } else if (beta != T(1)) {
    for (std::int64_t i = 0; i < count; ++i) c[i] *= beta;
  }
}

template <typename T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const MatrixOperand<T>& a,
          const MatrixOperand<T>& b, T beta, T* c) {
  scale_rows(c, m * n, beta);
  const std::int64_t a_row_step = a.transpose ? 1 : a.stride;
  const std::int64_t a_column_step = a.transpose ? a.stride : 1;
  Tile<T> tile;
  for (std::int64_t column = 0; column < n; column += kTileColumns) {
    const std::int64_t columns = std::min(kTileColumns, n - column);
    for (std::int64_t p = 0; p < k; p += kTileRows) {
      const std::int64_t rows = std::min(kTileRows, k - p);
      pack(tile, b, p, column, rows, columns);
      for (std::int64_t i = 0; i < m; ++i) {
        add_row_times_tile(c + i * n + column, a.data + i * a_row_step + p * a_column_step,
                           a_column_step, alpha, tile, rows, columns);
      }
    }
  }
}

}  // namespace ringside::gemm_loops
