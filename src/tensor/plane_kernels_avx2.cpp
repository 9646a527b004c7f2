// The inner loops of convolution for AVX2.
#include "tensor/plane_loops.h"
#include "tensor/plane_variants.h"

namespace ringside::plane_variants {

template <typename T>
PlaneKernels<T> avx2() {
  return plane_loops::kernels<T, 32, 6, 3>();
}

template PlaneKernels<float> avx2();
template PlaneKernels<double> avx2();

}  // namespace ringside::plane_variants
