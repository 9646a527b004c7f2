// The product of two matrices that exist only as functions of their indices: what a convolution is,
// without writing its columns out (implicit GEMM).
//
// A block computes a tile of c through tiles of a and b in shared memory; every element adds its k
// products in ascending order, by fused multiply-adds.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace ringside::cuda::tiled {

inline constexpr int kRows = 32;     // of c in a tile
inline constexpr int kColumns = 64;  // of c in a tile
inline constexpr int kDepth = 16;    // products taken together
inline constexpr int kSide = 16;     // threads along either side; each has 2 rows and 4 columns
inline constexpr int kBlock = kSide * kSide;
inline constexpr int kOwnRows = kRows / kSide;
inline constexpr int kOwnColumns = kColumns / kSide;

template <typename T>
struct Tiles {
  T a[kDepth][kRows + 1];  // one more, so that writing a column meets different banks
  T b[kDepth][kColumns];
};

/// Loads a[row..., p...] and b[p..., column...]; zeros behind the end.
template <typename T, typename Problem>
__device__ void load_tiles(Tiles<T>& tiles, const Problem& problem, int first_row, int first_column,
                           int first, int last) {
  for (int i = static_cast<int>(threadIdx.x); i < kDepth * kRows; i += kBlock) {
    const int p = i % kDepth;
    const int row = i / kDepth;
    const bool inside = first + p < last && first_row + row < problem.rows();
    tiles.a[p][row] = inside ? problem.a(first_row + row, first + p) : T(0);
  }
  for (int i = static_cast<int>(threadIdx.x); i < kDepth * kColumns; i += kBlock) {
    const int p = i / kColumns;
    const int column = i % kColumns;
    const bool inside = first + p < last && first_column + column < problem.columns();
    tiles.b[p][column] = inside ? problem.b(first + p, first_column + column) : T(0);
  }
}

/// The tile of block (x, y), over the part z of the products.
template <typename T, typename Problem>
__global__ void __launch_bounds__(kBlock) product_kernel(Problem problem) {
  __shared__ Tiles<T> tiles;
  const int first_column = static_cast<int>(blockIdx.x) * kColumns;
  const int first_row = static_cast<int>(blockIdx.y) * kRows;
  const int x = static_cast<int>(threadIdx.x) % kSide;
  const int y = static_cast<int>(threadIdx.x) / kSide;
  const int part = static_cast<int>(blockIdx.z);
  const int last = problem.part_end(part);
  T sums[kOwnRows][kOwnColumns] = {};
  for (int first = problem.part_begin(part); first < last; first += kDepth) {
    load_tiles(tiles, problem, first_row, first_column, first, last);
    __syncthreads();
    for (int p = 0; p < kDepth; ++p) {
      for (int r = 0; r < kOwnRows; ++r) {
        for (int c = 0; c < kOwnColumns; ++c) {
          sums[r][c] = fma(tiles.a[p][y + r * kSide], tiles.b[p][x + c * kSide], sums[r][c]);
        }
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < kOwnRows; ++r) {
    for (int c = 0; c < kOwnColumns; ++c) {
      const int row = first_row + y + r * kSide;
      const int column = first_column + x + c * kSide;
      if (row < problem.rows() && column < problem.columns()) {
        problem.store(part, row, column, sums[r][c]);
      }
    }
  }
}

inline dim3 grid(std::int64_t rows, std::int64_t columns, int parts) {
  return {static_cast<unsigned>((columns + kColumns - 1) / kColumns),
          static_cast<unsigned>((rows + kRows - 1) / kRows), static_cast<unsigned>(parts)};
}

}  // namespace ringside::cuda::tiled
