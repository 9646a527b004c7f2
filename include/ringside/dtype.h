// Element types and shapes: the two facts every array in Ringside has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "ringside/float16.h"

namespace ringside {

enum class DType : std::uint8_t {
  kFloat32,
  kFloat64,
  kInt32,
  kInt64,
  kFloat16,  ///< this one and the next are moved, reduced and converted, not trained in
  kBFloat16,
  kUInt8
};

/// Bytes of one element: 4, 8, 4, 8, 2, 2, 1.
std::size_t size_of(DType dtype);
/// "float32", "float64", "int32", "int64", "float16", "bfloat16", "uint8".
std::string_view to_string(DType dtype);
/// The inverse of to_string. Throws Error(kInvalidArgument) that lists the valid names.
DType parse_dtype(std::string_view name);
/// The four floating types.
bool is_floating(DType dtype);
/// float32 and float64: what the operators of tensor.h compute in.
bool is_trainable(DType dtype);

/// Maps a C++ element type to its DType: dtype_of<float>() == DType::kFloat32.
template <typename T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kFloat64;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType dtype_of<Float16>() {
  return DType::kFloat16;
}
template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::kBFloat16;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::kUInt8;
}

/// Calls `visitor.template operator()<T>()` with the C++ type of `dtype`; the one place a dtype
/// becomes a type.
template <typename Visitor>
decltype(auto) visit_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kFloat64:
      return visitor.template operator()<double>();
    case DType::kInt32:
      return visitor.template operator()<std::int32_t>();
    case DType::kInt64:
      return visitor.template operator()<std::int64_t>();
    case DType::kFloat16:
      return visitor.template operator()<Float16>();
    case DType::kBFloat16:
      return visitor.template operator()<BFloat16>();
    case DType::kUInt8:
      return visitor.template operator()<std::uint8_t>();
    case DType::kFloat32:
      break;
  }
  return visitor.template operator()<float>();
}

/// The sizes of an array's dimensions, row-major, at most kMaxRank of them. A scalar has none
/// (numel() == 1). A value type without allocation.
class Shape {
 public:
  static constexpr std::size_t kMaxRank = 6;

  Shape() = default;
  /// Throws Error(kInvalidArgument) for more than kMaxRank dimensions or a negative size.
  Shape(std::initializer_list<std::int64_t> sizes);
  explicit Shape(std::span<const std::int64_t> sizes);

  std::size_t rank() const { return rank_; }
  /// Size of dimension `dim`; negative counts from the end. Throws Error(kInvalidArgument) out of
  /// range.
  std::int64_t operator[](std::int64_t dim) const;
  /// Number of elements; 1 for a scalar.
  std::int64_t numel() const;
  std::span<const std::int64_t> sizes() const { return {sizes_.data(), rank_}; }
  /// This shape with dimension `dim` replaced by `size`.
  Shape with(std::int64_t dim, std::int64_t size) const;

  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::size_t rank_ = 0;
};

/// "64x10"; "scalar" without dimensions.
std::string to_string(const Shape& shape);

}  // namespace ringside
