// The choice among the inner loops of convolution, made once.
#include "tensor/plane_kernels.h"

#include "tensor/plane_variants.h"

namespace ringside {

template <typename T>
const PlaneKernels<T>& plane_kernels() {
  static const PlaneKernels<T> widest = plane_variants::runnable<T>().back();
  return widest;
}

template const PlaneKernels<float>& plane_kernels();
template const PlaneKernels<double>& plane_kernels();

}  // namespace ringside
