#include "comm/arithmetic.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "comm/chain_sum.h"

namespace ringside {
namespace {

template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // wraps around where T would overflow
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return static_cast<T>(a + b);  // of 16 bits: rounded to them, as NCCL's kernels do
  }
}

template <typename T>
T product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
  } else {
    return static_cast<T>(a * b);
  }
}

// 1/ranks, rounded to T.
template <typename T>
T reciprocal(int ranks) {
  using Wide = std::conditional_t<sizeof(T) < sizeof(float), float, T>;
  return static_cast<T>(static_cast<Wide>(1) / static_cast<Wide>(ranks));
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

/// Calls visit(function of two values) with the operation's arithmetic.
template <typename T, typename Visit>
void visit_operation(ReduceOp op, Visit visit) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return visit([](T a, T b) { return sum(a, b); });
    case ReduceOp::kMin:
      return visit([](T a, T b) { return minimum(a, b); });
    case ReduceOp::kMax:
      return visit([](T a, T b) { return maximum(a, b); });
    case ReduceOp::kProd:
      return visit([](T a, T b) { return product(a, b); });
  }
}

// As much as compilers keep in registers: 128 bytes take three times as long with GCC 12.
constexpr std::size_t kChainBytes = 64;

/// The chain of one operation, for `count` elements from `first` on, at most kChainBytes of them.
/// `count` is a number, or a type that converts to a constant one: then the accumulator is kept in
/// registers.
template <typename T, typename Count, typename Prepare, typename Combine, typename Finish>
void chain_block(std::span<const std::byte* const> sources,
                 std::span<std::byte* const> destinations, std::size_t first, Count count,
                 Prepare prepare, Combine combine, Finish finish) {
  T accumulator[kChainBytes / sizeof(T)];
  const auto values_of = [&](const std::byte* source) {
    return reinterpret_cast<const T*>(source) + first;
  };
  const T* values = values_of(sources.front());
  for (std::size_t i = 0; i < count; ++i) accumulator[i] = prepare(values[i]);
  for (const std::byte* source : sources.subspan(1)) {
    values = values_of(source);
    for (std::size_t i = 0; i < count; ++i) {
      accumulator[i] = combine(accumulator[i], prepare(values[i]));
    }
  }
  for (std::size_t i = 0; i < count; ++i) accumulator[i] = finish(accumulator[i]);
  for (std::byte* destination : destinations) {
    std::memcpy(reinterpret_cast<T*>(destination) + first, accumulator, count * sizeof(T));
  }
}

}  // namespace

void combine(DType dtype, ReduceOp op, void* out, const void* a, const void* b, std::size_t count) {
  visit_dtype(dtype, [&]<typename T>() {
    visit_operation<T>(op, [&](auto combined) {
      T* to = static_cast<T*>(out);
      const T* left = static_cast<const T*>(a);
      const T* right = static_cast<const T*>(b);
      for (std::size_t i = 0; i < count; ++i) to[i] = combined(left[i], right[i]);
    });
  });
}

namespace {

// Which operand is on the left does not matter to the bits of a sum, but of two NaNs.
template <typename T>
bool add_wide(ReduceOp op, int ranks, std::span<const std::byte* const> sources,
              std::span<std::byte* const> destinations, std::size_t count) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    if (op != ReduceOp::kSum && op != ReduceOp::kAvg) return false;
    add_chain<T>({reinterpret_cast<const T* const*>(sources.data()),
                  static_cast<std::int64_t>(sources.size()),
                  reinterpret_cast<T* const*>(destinations.data()),
                  static_cast<std::int64_t>(destinations.size()), static_cast<std::int64_t>(count),
                  op == ReduceOp::kAvg, reciprocal<T>(ranks)});
    return true;
  }
  return false;
}

}  // namespace

void combine_chain(DType dtype, ReduceOp op, int ranks, bool accumulator_first,
                   std::span<const std::byte* const> sources,
                   std::span<std::byte* const> destinations, std::size_t count) {
  visit_dtype(dtype, [&]<typename T>() {
    if (add_wide<T>(op, ranks, sources, destinations, count)) return;
    const auto run = [&](auto prepare, auto combine, auto finish) {
      constexpr std::size_t kBlock = kChainBytes / sizeof(T);
      std::size_t first = 0;
      for (; first + kBlock <= count; first += kBlock) {
        chain_block<T>(sources, destinations, first, std::integral_constant<std::size_t, kBlock>(),
                       prepare, combine, finish);
      }
      if (first == count) return;
      chain_block<T>(sources, destinations, first, count - first, prepare, combine, finish);
    };
    const auto same = [](T value) { return value; };
    if (op == ReduceOp::kAvg) {
      if constexpr (!std::is_integral_v<T>) {
        const T factor = reciprocal<T>(ranks);
        const auto scaled = [factor](T value) { return static_cast<T>(value * factor); };
        run(
            scaled, [](T a, T b) { return sum(a, b); }, same);
      } else {
        const auto divided = [ranks](T value) { return static_cast<T>(value / ranks); };
        run(
            same, [](T a, T b) { return sum(a, b); }, divided);
      }
      return;
    }
    visit_operation<T>(op, [&](auto combined) {
      if (accumulator_first) {
        run(same, combined, same);
      } else {
        run(
            same, [combined](T a, T b) { return combined(b, a); }, same);
      }
    });
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
    const T factor = reciprocal<T>(ranks);
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(out);
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i] * factor);
  });
}

void conclude(DType dtype, ReduceOp op, int ranks, void* data, std::size_t count) {
  if (op != ReduceOp::kAvg || is_floating(dtype)) return;
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      T* values = static_cast<T*>(data);
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(values[i] / ranks);
    }
  });
}

}  // namespace ringside
