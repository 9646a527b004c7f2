// A CBLAS of which nothing more is known: the interface has no call for threads.
#include "tensor/blas_threads.h"

namespace ringside {

bool hold_blas_to_calling_thread() { return false; }

}  // namespace ringside
