// Keeps the linear-algebra library from spreading a product over threads of its own.
#pragma once

namespace ringside {

/// From now on the library computes on the thread that calls. False where it has no call for that
/// (blas_threads_none.cpp): its threads are then the user's to hold to one.
bool hold_blas_to_calling_thread();

}  // namespace ringside
