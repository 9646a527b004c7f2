// The instruction sets that the inner loops of convolution are compiled for. Only
// plane_choice_*.cpp calls these, and runs none that the processor lacks.
#pragma once

#include <vector>

#include "tensor/plane_kernels.h"

namespace ringside::plane_variants {

template <typename T>
PlaneKernels<T> baseline();
template <typename T>
PlaneKernels<T> avx2();
template <typename T>
PlaneKernels<T> avx512();

/// All that this processor can run, the widest vectors last.
template <typename T>
std::vector<PlaneKernels<T>> runnable();

}  // namespace ringside::plane_variants
