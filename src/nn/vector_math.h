// The float32 logarithm, sine and cosine that PyTorch's AVX2 kernels use for random normals.
//
// Polynomials of the Cephes library, evaluated with fused multiply-adds exactly where PyTorch's
// build has them, one element at a time: the same bits as its vectors of eight.
// [ATen/native/cpu/avx_mathfun.h] Not for other use: <cmath> is more accurate.
#pragma once

namespace ringside {

/// ln(x) for normal x > 0.
float vector_log(float x);

struct SinCos {
  float sin;
  float cos;
};
/// Of x >= 0, in radians, up to some thousands.
SinCos vector_sincos(float x);

}  // namespace ringside
