// gemm through oneDNN's dnnl_sgemm; float64, which oneDNN does not have, through plain loops.
//
// oneDNN would spread a product over its OpenMP threads. Ringside's threads are the devices'
// workers, so OpenMP is held to one thread in every thread that calls: with one, oneDNN runs the
// product in the caller and starts no thread.
#include <dlfcn.h>
#include <dnnl.h>
#include <fmt/format.h>

#include "ringside/error.h"
#include "tensor/gemm.h"
#include "tensor/gemm_loops.h"

namespace ringside {
namespace {

/// Asks the OpenMP runtime that oneDNN itself has loaded: the compiler at hand may come with
/// another one. The setting is per thread. False where oneDNN was built without OpenMP.
bool hold_openmp_to_one_thread() {
  using SetNumThreads = void (*)(int);
  auto set_num_threads =
      reinterpret_cast<SetNumThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set_num_threads == nullptr) return false;
  set_num_threads(1);
  return true;
}

}  // namespace

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const MatrixOperand<float>& a, const MatrixOperand<float>& b, float beta, float* c) {
  thread_local const bool held = hold_openmp_to_one_thread();
  static_cast<void>(held);
  const dnnl_status_t status = dnnl_sgemm(a.transpose ? 'T' : 'N', b.transpose ? 'T' : 'N', m, n, k,
                                          alpha, a.data, a.stride, b.data, b.stride, beta, c, n);
  if (status != dnnl_success) {
    throw Error(ErrorKind::kDevice,
                fmt::format("oneDNN: dnnl_sgemm of {}x{} by {}x{} failed with status {}", m, k, k,
                            n, static_cast<int>(status)));
  }
}

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
          const MatrixOperand<double>& a, const MatrixOperand<double>& b, double beta, double* c) {
  gemm_loops::gemm(m, n, k, alpha, a, b, beta, c);
}

}  // namespace ringside
