#include "comm/arithmetic.h"

#include <cstring>
#include <type_traits>

namespace ringside {
namespace {

template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // wraps around where T would overflow
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

// a != a holds for NaN alone; a NaN in b comes out because every comparison with it is false.
template <typename T>
T minimum(T a, T b) {
  return a < b || a != a ? a : b;  // NOLINT(misc-redundant-expression)
}
template <typename T>
T maximum(T a, T b) {
  return a > b || a != a ? a : b;  // NOLINT(misc-redundant-expression)
}

template <typename T>
void combine_typed(ReduceOp op, T* out, const T* a, const T* b, std::size_t count) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      for (std::size_t i = 0; i < count; ++i) out[i] = sum(a[i], b[i]);
      return;
    case ReduceOp::kMin:
      for (std::size_t i = 0; i < count; ++i) out[i] = minimum(a[i], b[i]);
      return;
    case ReduceOp::kMax:
      for (std::size_t i = 0; i < count; ++i) out[i] = maximum(a[i], b[i]);
      return;
  }
}

}  // namespace

void combine(DType dtype, ReduceOp op, void* out, const void* a, const void* b, std::size_t count) {
  visit_dtype(dtype, [&]<typename T>() {
    combine_typed(op, static_cast<T*>(out), static_cast<const T*>(a), static_cast<const T*>(b),
                  count);
  });
}

bool scales_contributions(DType dtype, ReduceOp op) {
  return op == ReduceOp::kAvg && is_floating(dtype);
}

void contribute(DType dtype, ReduceOp op, int ranks, void* out, const void* in, std::size_t count) {
  if (!scales_contributions(dtype, op)) {
    if (out != in && count > 0) std::memcpy(out, in, count * size_of(dtype));
    return;
  }
  visit_dtype(dtype, [&]<typename T>() {
    const T factor = static_cast<T>(1) / static_cast<T>(ranks);
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(out);
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i] * factor;
  });
}

void conclude(DType dtype, ReduceOp op, int ranks, void* data, std::size_t count) {
  if (op != ReduceOp::kAvg || is_floating(dtype)) return;
  visit_dtype(dtype, [&]<typename T>() {
    T* values = static_cast<T*>(data);
    for (std::size_t i = 0; i < count; ++i) values[i] /= static_cast<T>(ranks);
  });
}

}  // namespace ringside
