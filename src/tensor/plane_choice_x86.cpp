// The inner loops of convolution that this x86 processor, and its system, can run.
#include "tensor/plane_variants.h"

namespace ringside::plane_variants {

template <typename T>
std::vector<PlaneKernels<T>> runnable() {
  std::vector<PlaneKernels<T>> variants{baseline<T>()};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    variants.push_back(avx2<T>());
  }
  if (__builtin_cpu_supports("avx512f")) variants.push_back(avx512<T>());
  return variants;
}

template std::vector<PlaneKernels<float>> runnable();
template std::vector<PlaneKernels<double>> runnable();

}  // namespace ringside::plane_variants
