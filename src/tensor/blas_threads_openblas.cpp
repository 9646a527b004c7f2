// OpenBLAS. Its variants with threads take their number from a call, and may be called by several
// threads at a time; the variant without gives wrong products then, unless it was built with locks,
// which it does not tell.
//
// Each of several callers at a time gets 128 MiB of address space, and where the system has none
// left OpenBLAS asks for it for ever. So under a limit on address space calls are made one by one,
// once OpenBLAS has the room for one. The first call should come before other threads take memory.
#include <cblas.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>
#include <vector>

#include "ringside/error.h"
#include "tensor/blas_threads.h"

namespace ringside {
namespace {

bool address_space_is_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Looks for the room of one caller, and has OpenBLAS take it: it keeps what it has once had.
void take_room_for_one_caller() {
  constexpr std::size_t kBytes = std::size_t{128} << 20U;
  void* room =
      ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    throw Error(ErrorKind::kOutOfMemory,
                "matrix products need 128 MiB of address space at once, and less is left",
                "raise the limit on address space (ulimit -v)");
  }
  constexpr int kSize = 160;  // smaller products do without the room
  std::vector<float> values(std::size_t{3} * kSize * kSize);
  float* out = values.data() + std::size_t{2} * kSize * kSize;
  ::munmap(room, kBytes);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kSize, kSize, kSize, 1, values.data(),
              kSize, values.data() + std::size_t{kSize} * kSize, kSize, 0, out, kSize);
}

}  // namespace

std::unique_lock<std::mutex> blas_call() {
  static std::mutex one_at_a_time;
  static const bool threads = [] {
    openblas_set_num_threads(1);
    const bool limited = address_space_is_limited();
    if (limited) take_room_for_one_caller();
    return !limited && openblas_get_parallel() != OPENBLAS_SEQUENTIAL;
  }();
  return threads ? std::unique_lock<std::mutex>() : std::unique_lock(one_at_a_time);
}

}  // namespace ringside
