// cuBLAS, loaded when the first device is opened: linked, it would cost every program 155 MB and 70
// ms at its start, with a GPU or not.
#pragma once

#include <cublas_v2.h>

#include <string>
#include <vector>

namespace ringside::cuda {

/// The functions that are called, under their names in cuBLAS 12 and 13. Those with 64 bits take
/// matrices of any size.
struct CublasLibrary {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasSetMathMode) set_math_mode;
  decltype(&cublasSetAtomicsMode) set_atomics_mode;
  decltype(&cublasGetStatusString) status_string;
  decltype(&cublasSgemmStridedBatched_64) multiply_float;
  decltype(&cublasDgemmStridedBatched_64) multiply_double;
};

/// Where the library is looked for, in this order: by its name with the major version of the CUDA
/// runtime, where the loader looks; in the folder of the runtime that is loaded (which it may share
/// with it without the loader knowing, as in Python's packages); by its bare name.
std::vector<std::string> cublas_candidates(int runtime_version, const std::string& runtime_folder);

/// The first of `candidates` that can be loaded; it stays loaded. Throws Error(kUnavailable) that
/// says what was tried.
CublasLibrary load_cublas(const std::vector<std::string>& candidates);

/// The library of this process, loaded at the first call. Any thread.
const CublasLibrary& cublas();

}  // namespace ringside::cuda
