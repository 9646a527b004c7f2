// The linear-algebra library and threads: Ringside's are the devices' workers.
#pragma once

#include <mutex>

namespace ringside {

/// To be held around a call of the library. The first time the library is told to compute on the
/// thread that calls, where it has a call for that (blas_threads_none.cpp has not: its threads are
/// the user's to hold to one). Calls exclude each other only if the library is known to need it.
/// Throws Error(kOutOfMemory) where the library would wait for address space for ever.
std::unique_lock<std::mutex> blas_call();

}  // namespace ringside
