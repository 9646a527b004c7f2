// The widest inner loops that this x86 processor, and its system, can run.
#include "tensor/plane_variants.h"

namespace ringside {
namespace {

template <typename T>
PlaneKernels<T> widest() {
  if (__builtin_cpu_supports("avx512f")) return plane_variants::avx512<T>();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return plane_variants::avx2<T>();
  }
  return plane_variants::baseline<T>();
}

}  // namespace

template <typename T>
const PlaneKernels<T>& plane_kernels() {
  static const PlaneKernels<T> kernels = widest<T>();
  return kernels;
}

template const PlaneKernels<float>& plane_kernels();
template const PlaneKernels<double>& plane_kernels();

}  // namespace ringside
