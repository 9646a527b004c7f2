// exp and erf on the GPU: in float32 the CPU's own polynomials, so that the bits are the same; in
// float64 CUDA's functions, which differ from the C library's in the last digit.
#pragma once

#include "tensor/vector_math.h"

namespace ringside::cuda {

__device__ inline float device_exp(float x) { return vector_exp(x); }
__device__ inline double device_exp(double x) { return ::exp(x); }
__device__ inline float device_erf(float x) { return vector_erf(x); }
__device__ inline double device_erf(double x) { return ::erf(x); }

}  // namespace ringside::cuda
