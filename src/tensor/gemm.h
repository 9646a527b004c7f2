// Matrix product on host memory: the one function that a CPU library may provide.
//
// gemm_cblas.cpp and gemm_plain.cpp implement it; CMake compiles one of them. Both
// run on the calling thread alone, so the order of additions depends on the shapes only: the same
// product has the same bits on every thread and at every address.
#pragma once

#include <cstdint>

namespace ringside {

/// A row-major matrix operand: op(data) is the matrix, or its transpose, whose rows are `stride`
/// elements apart in memory.
template <typename T>
struct MatrixOperand {
  const T* data;
  std::int64_t stride;
  bool transpose = false;
};

/// Has the library take the memory of its own that it would wait for later. To be called while the
/// program has one thread. Throws Error(kOutOfMemory) if there is not enough.
void prepare_gemm();

/// c[m,n] = alpha * op(a)[m,k] * op(b)[k,n] + beta * c, row-major, c's rows n apart. With beta 0, c
/// is not read. m, n, k >= 1.
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const MatrixOperand<float>& a, const MatrixOperand<float>& b, float beta, float* c);
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
          const MatrixOperand<double>& a, const MatrixOperand<double>& b, double beta, double* c);

}  // namespace ringside
