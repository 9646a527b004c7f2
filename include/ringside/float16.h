// The two floating types of 16 bits, for storage, communication and conversion.
//
// Float16 is IEEE 754 binary16 (sign, 5 bits of exponent, 10 of mantissa), BFloat16 the upper half
// of a float32 (8 and 7). Conversion to float is exact; from float and double it rounds to nearest,
// ties to even, overflows to infinity and keeps NaN a NaN. Arithmetic is float's, on the converted
// values; one operation on two values that is then converted back is correctly rounded, since float
// has more than twice the digits. Pure functions, any thread.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ringside {

namespace float16_detail {

/// The float next to `value` that makes a second rounding, to fewer digits, right: not rounded to
/// nearest but to odd.
inline float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;  // toward zero
  return std::bit_cast<float>(bits | 1U);
}

}  // namespace float16_detail

class Float16 {
 public:
  Float16() = default;
  explicit Float16(float value) : bits_(rounded(value)) {}
  explicit Float16(double value) : Float16(float16_detail::rounded_to_odd(value)) {}
  explicit Float16(int value) : Float16(static_cast<double>(value)) {}

  operator float() const {  // NOLINT(google-explicit-constructor): exact, as float to double
    constexpr std::uint32_t kExponent = 0x7C00U << 13;
    std::uint32_t bits = (bits_ & 0x7FFFU) << 13;
    const std::uint32_t exponent = bits & kExponent;
    bits += (127U - 15U) << 23;
    if (exponent == kExponent) {
      bits += (128U - 16U) << 23;  // infinity, NaN
    } else if (exponent == 0) {    // zero, subnormal
      bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits + (1U << 23)) - 0x1p-14F);
    }
    return std::bit_cast<float>(bits | (bits_ & 0x8000U) << 16);
  }
  std::uint16_t bits() const { return bits_; }
  static Float16 from_bits(std::uint16_t bits) {
    Float16 value;
    value.bits_ = bits;
    return value;
  }

 private:
  static std::uint16_t rounded(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    std::uint32_t result = 0;
    if (magnitude > 0x7F800000U) {
      result = 0x7E00;  // NaN
    } else if (magnitude >= 0x477FF000U) {
      result = 0x7C00;  // from halfway between 65504 and 65536 on
    } else if (magnitude < 0x38800000U) {
      // Subnormal: the addition rounds where the last digit of 2^-24 stands.
      const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
      result = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
    } else {
      const std::uint32_t to_even = 0xFFFU + ((magnitude >> 13) & 1U);
      result = (magnitude - ((127U - 15U) << 23) + to_even) >> 13;
    }
    return static_cast<std::uint16_t>(result | sign);
  }

  std::uint16_t bits_ = 0;
};

class BFloat16 {
 public:
  BFloat16() = default;
  explicit BFloat16(float value) : bits_(rounded(value)) {}
  explicit BFloat16(double value) : BFloat16(float16_detail::rounded_to_odd(value)) {}
  explicit BFloat16(int value) : BFloat16(static_cast<double>(value)) {}

  operator float() const {  // NOLINT(google-explicit-constructor): exact, as float to double
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }
  std::uint16_t bits() const { return bits_; }
  static BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 value;
    value.bits_ = bits;
    return value;
  }

 private:
  static std::uint16_t rounded(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
      return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // a quiet NaN
    }
    return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
  }

  std::uint16_t bits_ = 0;
};

}  // namespace ringside
