// The inner loops of convolution for vectors of 16 bytes, which every processor of the kind built
// for has.
#include "tensor/plane_loops.h"
#include "tensor/plane_variants.h"

namespace ringside::plane_variants {

template <typename T>
PlaneKernels<T> baseline() {
  return plane_loops::kernels<T, 16, 6, 3>();
}

template PlaneKernels<float> baseline();
template PlaneKernels<double> baseline();

}  // namespace ringside::plane_variants
