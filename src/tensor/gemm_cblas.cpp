// gemm through any CBLAS.
//
// A BLAS with threads of its own is the user's to hold to one (OPENBLAS_NUM_THREADS=1): CBLAS has
// no call for it.
#include <cblas.h>

#include "tensor/gemm.h"

namespace ringside {
namespace {

template <typename T>
CBLAS_TRANSPOSE transposition(const MatrixOperand<T>& operand) {
  return operand.transpose ? CblasTrans : CblasNoTrans;
}

}  // namespace

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const MatrixOperand<float>& a, const MatrixOperand<float>& b, float beta, float* c) {
  cblas_sgemm(CblasRowMajor, transposition(a), transposition(b), static_cast<int>(m),
              static_cast<int>(n), static_cast<int>(k), alpha, a.data, static_cast<int>(a.stride),
              b.data, static_cast<int>(b.stride), beta, c, static_cast<int>(n));
}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
          const MatrixOperand<double>& a, const MatrixOperand<double>& b, double beta, double* c) {
  cblas_dgemm(CblasRowMajor, transposition(a), transposition(b), static_cast<int>(m),
              static_cast<int>(n), static_cast<int>(k), alpha, a.data, static_cast<int>(a.stride),
              b.data, static_cast<int>(b.stride), beta, c, static_cast<int>(n));
}

}  // namespace ringside
