// From a dtype to the C++ type that a CUDA kernel is compiled for.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "ringside/dtype.h"
#include "ringside/error.h"

namespace ringside::cuda {

[[noreturn]] inline void refuse_dtype(DType dtype, const char* types) {
  throw Error(ErrorKind::kInvalidArgument, "this CUDA kernel works on " + std::string(types) +
                                               ", not on " + std::string(to_string(dtype)));
}

/// visit_dtype for kernels that are defined on the types of training only.
template <typename Visitor>
void visit_trainable(DType dtype, Visitor&& visitor) {
  if (dtype == DType::kFloat32) return visitor.template operator()<float>();
  if (dtype == DType::kFloat64) return visitor.template operator()<double>();
  refuse_dtype(dtype, "float32 and float64");
}

/// visit_dtype for the four floating types; those of 16 bits are CUDA's.
template <typename Visitor>
void visit_any_floating(DType dtype, Visitor&& visitor) {
  if (dtype == DType::kFloat16) return visitor.template operator()<__half>();
  if (dtype == DType::kBFloat16) return visitor.template operator()<__nv_bfloat16>();
  if (is_trainable(dtype)) return visit_trainable(dtype, visitor);
  refuse_dtype(dtype, "floating types");
}

/// visit_dtype with CUDA's types of 16 bits.
template <typename Visitor>
void visit_any(DType dtype, Visitor&& visitor) {
  if (is_floating(dtype)) return visit_any_floating(dtype, visitor);
  if (dtype == DType::kInt32) return visitor.template operator()<std::int32_t>();
  if (dtype == DType::kInt64) return visitor.template operator()<std::int64_t>();
  return visitor.template operator()<std::uint8_t>();
}

template <typename T>
inline constexpr bool kIs16Bits = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

/// What values of a type are computed in.
template <typename T>
using Wide = std::conditional_t<kIs16Bits<T>, float, T>;

/// `value` rounded to T once, from whichever type.
template <typename T, typename From>
__host__ __device__ T rounded(From value) {
  if constexpr (std::is_same_v<T, __half>) {
    if constexpr (std::is_same_v<From, double>) return __double2half(value);
    return __float2half_rn(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    if constexpr (std::is_same_v<From, double>) return __double2bfloat16(value);
    return __float2bfloat16_rn(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
__host__ __device__ Wide<T> widened(T value) {
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(value);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(value);
  } else {
    return value;
  }
}

}  // namespace ringside::cuda
