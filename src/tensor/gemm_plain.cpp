// gemm without a library: plain loops for both types.
#include "tensor/gemm.h"
#include "tensor/gemm_loops.h"

namespace ringside {

void prepare_gemm() {}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const MatrixOperand<float>& a, const MatrixOperand<float>& b, float beta, float* c) {
  gemm_loops::gemm(m, n, k, alpha, a, b, beta, c);
}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
          const MatrixOperand<double>& a, const MatrixOperand<double>& b, double beta, double* c) {
  gemm_loops::gemm(m, n, k, alpha, a, b, beta, c);
}

}  // namespace ringside
