// The inner loops of convolution for AVX-512.
#include "tensor/plane_loops.h"
#include "tensor/plane_variants.h"

namespace ringside::plane_variants {

template <typename T>
PlaneKernels<T> avx512() {
  return plane_loops::kernels<T, 64, 8, 6>();
}

template PlaneKernels<float> avx512();
template PlaneKernels<double> avx512();

}  // namespace ringside::plane_variants
