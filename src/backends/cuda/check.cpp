#include "backends/cuda/check.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "ringside/error.h"

namespace ringside::cuda {
namespace {

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Without a driver there is no current device to name.
std::string current_device() {
  int index = 0;
  return cudaGetDevice(&index) == cudaSuccess ? fmt::format("cuda:{}", index) : "cuda";
}

std::string place(const char* call, const char* file, int line) {
  return fmt::format("device {}: {} ({}:{})", current_device(), call, base_name(file), line);
}

}  // namespace

void throw_cuda_error(cudaError_t error, const char* call, const char* file, int line) {
  const std::string message = fmt::format("{}: {} ({})", place(call, file, line),
                                          cudaGetErrorString(error), cudaGetErrorName(error));
  clear_cuda_error();
  throw Error(ErrorKind::kDevice, message,
              "run again with CUDA_LAUNCH_BLOCKING=1 to see at which op it happens");
}

void throw_nccl_error(ncclResult_t result, const char* call, const char* file, int line) {
  const char* detail = ncclGetLastError(nullptr);
  std::string message = fmt::format("{}: {}", place(call, file, line), ncclGetErrorString(result));
  if (detail != nullptr && *detail != '\0') message += fmt::format(": {}", detail);
  clear_cuda_error();
  throw Error(ErrorKind::kDevice, message, "run again with NCCL_DEBUG=INFO to see what NCCL did");
}

}  // namespace ringside::cuda
