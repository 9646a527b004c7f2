// OpenBLAS, whose variants with threads take their number from this call, and whose variant without
// ignores it.
#include <cblas.h>

#include "tensor/blas_threads.h"

namespace ringside {

bool hold_blas_to_calling_thread() {
  openblas_set_num_threads(1);
  return true;
}

}  // namespace ringside
