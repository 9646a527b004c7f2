// The inner loops of convolution for processors of which only one kind is known.
#include "tensor/plane_variants.h"

namespace ringside::plane_variants {

template <typename T>
std::vector<PlaneKernels<T>> runnable() {
  return {baseline<T>()};
}

template std::vector<PlaneKernels<float>> runnable();
template std::vector<PlaneKernels<double>> runnable();

}  // namespace ringside::plane_variants
