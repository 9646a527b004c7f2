// gemm through a CBLAS: OpenBLAS, or whichever there is.
//
// The library computes on the calling thread alone (blas_threads.h).
#include <cblas.h>
#include <fmt/format.h>

#include <limits>

#include "ringside/error.h"
#include "tensor/blas_threads.h"
#include "tensor/gemm.h"

namespace ringside {
namespace {

template <typename T>
CBLAS_TRANSPOSE transposition(const MatrixOperand<T>& operand) {
  return operand.transpose ? CblasTrans : CblasNoTrans;
}

// CBLAS counts in int.
int as_int(std::int64_t size) {
  if (size > std::numeric_limits<int>::max()) {
    throw Error(ErrorKind::kUnavailable,
                fmt::format("CBLAS: a matrix with a side of {} is more than it can take", size),
                "take smaller layers or batches, or build with -DRINGSIDE_BLAS=PLAIN");
  }
  return static_cast<int>(size);
}

}  // namespace

void prepare_gemm() { blas_call(); }

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const MatrixOperand<float>& a, const MatrixOperand<float>& b, float beta, float* c) {
  const auto call = blas_call();
  cblas_sgemm(CblasRowMajor, transposition(a), transposition(b), as_int(m), as_int(n), as_int(k),
              alpha, a.data, as_int(a.stride), b.data, as_int(b.stride), beta, c, as_int(n));
}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
          const MatrixOperand<double>& a, const MatrixOperand<double>& b, double beta, double* c) {
  const auto call = blas_call();
  cblas_dgemm(CblasRowMajor, transposition(a), transposition(b), as_int(m), as_int(n), as_int(k),
              alpha, a.data, as_int(a.stride), b.data, as_int(b.stride), beta, c, as_int(n));
}

}  // namespace ringside
