#include "backends/cuda/cublas_library.h"

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "ringside/error.h"

namespace ringside::cuda {
namespace {

template <typename Function>
void find(void* library, const std::string& path, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function != nullptr) return;
  throw Error(ErrorKind::kUnavailable, fmt::format("cuBLAS: {} has no function {}", path, name),
              "install cuBLAS of CUDA 12 or 13");
}

CublasLibrary functions_of(void* library, const std::string& path) {
  CublasLibrary found{};
  find(library, path, "cublasCreate_v2", found.create);
  find(library, path, "cublasDestroy_v2", found.destroy);
  find(library, path, "cublasSetStream_v2", found.set_stream);
  find(library, path, "cublasSetWorkspace_v2", found.set_workspace);
  find(library, path, "cublasSetMathMode", found.set_math_mode);
  find(library, path, "cublasSetAtomicsMode", found.set_atomics_mode);
  find(library, path, "cublasGetStatusString", found.status_string);
  find(library, path, "cublasSgemmStridedBatched_64", found.multiply_float);
  find(library, path, "cublasDgemmStridedBatched_64", found.multiply_double);
  return found;
}

/// The folder of the CUDA runtime that this process runs with; empty if the system does not say.
std::string runtime_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&cudaRuntimeGetVersion), &info) == 0) return {};
  if (info.dli_fname == nullptr) return {};
  return std::filesystem::path(info.dli_fname).parent_path().string();
}

}  // namespace

std::vector<std::string> cublas_candidates(int runtime_version, const std::string& runtime_folder) {
  const std::string versioned = fmt::format("libcublas.so.{}", runtime_version / 1000);
  std::vector<std::string> candidates = {versioned};
  if (!runtime_folder.empty()) {
    candidates.push_back((std::filesystem::path(runtime_folder) / versioned).string());
  }
  candidates.emplace_back("libcublas.so");
  return candidates;
}

CublasLibrary load_cublas(const std::vector<std::string>& candidates) {
  std::string tried;
  for (const std::string& path : candidates) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return functions_of(library, path);
    }
    const char* why = dlerror();
    tried += fmt::format("{}{}", tried.empty() ? "" : "; ", why != nullptr ? why : path.c_str());
  }
  throw Error(ErrorKind::kUnavailable, fmt::format("cuBLAS could not be loaded: {}", tried),
              "install cuBLAS of the CUDA version that Ringside was built with, add its folder to "
              "LD_LIBRARY_PATH, or use the sim backend");
}

const CublasLibrary& cublas() {
  static const CublasLibrary library =
      load_cublas(cublas_candidates(CUDART_VERSION, runtime_folder()));
  return library;
}

}  // namespace ringside::cuda
