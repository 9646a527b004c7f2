// OpenBLAS. Its variants with threads take their number from a call, and may be called by several
// threads at a time; the variant without gives wrong products then, unless it was built with locks,
// which it does not tell.
#include <cblas.h>

#include "tensor/blas_threads.h"

namespace ringside {

std::unique_lock<std::mutex> blas_call() {
  static std::mutex one_at_a_time;
  static const bool threads = [] {
    openblas_set_num_threads(1);
    return openblas_get_parallel() != OPENBLAS_SEQUENTIAL;
  }();
  return threads ? std::unique_lock<std::mutex>() : std::unique_lock(one_at_a_time);
}

}  // namespace ringside
