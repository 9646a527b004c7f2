// The inner loops of convolution for processors of which only one kind is known.
#include "tensor/plane_variants.h"

namespace ringside {

template <typename T>
const PlaneKernels<T>& plane_kernels() {
  static const PlaneKernels<T> kernels = plane_variants::baseline<T>();
  return kernels;
}

template const PlaneKernels<float>& plane_kernels();
template const PlaneKernels<double>& plane_kernels();

}  // namespace ringside
