// The instruction sets that the inner loops of convolution are compiled for. Only
// plane_choice_*.cpp calls these, and runs none that the processor lacks.
#pragma once

#include "tensor/plane_kernels.h"

namespace ringside::plane_variants {

template <typename T>
PlaneKernels<T> baseline();
template <typename T>
PlaneKernels<T> avx2();
template <typename T>
PlaneKernels<T> avx512();

}  // namespace ringside::plane_variants
