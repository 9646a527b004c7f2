// PyTorch's CPU generator, draw for draw.
//
// On a CPU with AVX2 PyTorch's uniforms end in one fused multiply-add, and float32 normals of 16
// and more go through the vector log and sincos below; without it they are products, sums and the C
// library's functions. Whatever the compiler's mood, the same bits: the build never contracts
// a*b+c, and every fused multiply-add is written out. Threads: a Generator is a value, used by one
// thread at a time.

#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

#include "nn/vector_math.h"
#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

constexpr std::size_t kNormalBlock = 16;  // below it, normals are drawn one by one
constexpr std::uint64_t kTwoTo32 = std::uint64_t{1} << 32;

/// Of a normal distribution.
template <typename T>
struct Normal {
  T mean, deviation;
  bool fused;
  T operator()(T standard) const {
    return fused ? std::fma(standard, deviation, mean) : standard * deviation + mean;
  }
};

/// Box-Muller over a block of 16 uniforms in place: 8 radii from the first half, 8 angles from the
/// second. [ATen/native/cpu/DistributionTemplates.h: normal_fill_16]
template <typename T>
void normal_from_uniform(std::span<double> block, const Normal<T>& normal) {
  for (std::size_t j = 0; j < kNormalBlock / 2; ++j) {
    const T u1 = 1 - static_cast<T>(block[j]);
    const T u2 = static_cast<T>(block[j + kNormalBlock / 2]);
    const T radius = std::sqrt(-2 * std::log(u1));
    const T angle = static_cast<T>(2 * std::numbers::pi * static_cast<double>(u2));
    block[j] = normal(radius * std::cos(angle));
    block[j + kNormalBlock / 2] = normal(radius * std::sin(angle));
  }
}

/// The same in float32, with the vector functions. [normal_fill_16_AVX2]
void normal_from_uniform_vector(std::span<double> block, const Normal<float>& normal) {
  for (std::size_t j = 0; j < kNormalBlock / 2; ++j) {
    const float u1 = 1 - static_cast<float>(block[j]);
    const float u2 = static_cast<float>(block[j + kNormalBlock / 2]);
    const float radius = std::sqrt(-2 * vector_log(u1));
    const SinCos angle = vector_sincos(static_cast<float>(2 * std::numbers::pi) * u2);
    block[j] = normal(radius * angle.cos);
    block[j + kNormalBlock / 2] = normal(radius * angle.sin);
  }
}

/// from + x (to - from).
template <typename T>
T scaled(T x, double from, double to, CpuCapability capability) {
  const T low = static_cast<T>(from);
  const T width = static_cast<T>(to) - low;
  return capability == CpuCapability::kAvx2 ? std::fma(x, width, low) : x * width + low;
}

}  // namespace

// std::mt19937 is the same engine; of the seed only the low 32 bits enter.
Generator::Generator(std::uint64_t seed, CpuCapability capability)
    : engine_(static_cast<std::uint32_t>(seed)), capability_(capability) {}

std::uint32_t Generator::next_u32() { return static_cast<std::uint32_t>(engine_()); }

std::uint64_t Generator::next_u64() {
  const std::uint64_t high = next_u32();
  return high << 32 | next_u32();
}

double Generator::uniform(double from, double to, DType dtype) {
  if (dtype == DType::kFloat64) {
    const double x = static_cast<double>(next_u64() & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
    return scaled(x, from, to, capability_);
  }
  const float x = static_cast<float>(next_u32() & ((1U << 24) - 1)) * 0x1p-24F;
  return scaled(x, from, to, capability_);
}

std::int64_t Generator::randint(std::int64_t low, std::int64_t high) {
  if (low >= high) {
    throw Error(ErrorKind::kInvalidArgument,
                "randint from " + std::to_string(low) + " to " + std::to_string(high) +
                    ": the upper bound must be greater than the lower");
  }
  // Unsigned, so that ranges beyond 2^63 wrap as they do in PyTorch.
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t draw = range >= kTwoTo32 ? next_u64() : next_u32();
  return static_cast<std::int64_t>(draw % range + static_cast<std::uint64_t>(low));
}

std::vector<std::int64_t> Generator::randperm(std::int64_t n) {
  if (n < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                "randperm of " + std::to_string(n) + ": must not be negative");
  }
  const auto size = static_cast<std::size_t>(n);
  std::vector<std::int64_t> permutation(size);
  std::iota(permutation.begin(), permutation.end(), 0);
  for (std::size_t i = 0; i + 1 < size; ++i) {
    std::swap(permutation[i], permutation[i + next_u32() % (size - i)]);
  }
  return permutation;
}

std::vector<double> Generator::normal(std::size_t n, double mean, double deviation, DType dtype) {
  std::vector<double> values(n);
  if (n < kNormalBlock) {
    for (double& value : values) {
      const double normal = next_normal() * deviation + mean;
      value = dtype == DType::kFloat64 ? normal : static_cast<float>(normal);
    }
    return values;
  }
  const auto fill_uniform = [&](std::span<double> part) {
    for (double& value : part) value = uniform(0, 1, dtype);
  };
  const bool vector = capability_ == CpuCapability::kAvx2 && dtype != DType::kFloat64;
  const Normal<float> single{static_cast<float>(mean), static_cast<float>(deviation), vector};
  const auto transform = [&](std::span<double> block) {
    if (vector) return normal_from_uniform_vector(block, single);
    if (dtype != DType::kFloat64) return normal_from_uniform(block, single);
    normal_from_uniform(block, Normal<double>{mean, deviation, false});
  };
  const std::span<double> all(values);
  fill_uniform(all);
  for (std::size_t begin = 0; begin + kNormalBlock <= n; begin += kNormalBlock) {
    transform(all.subspan(begin, kNormalBlock));
  }
  if (n % kNormalBlock != 0) {
    // The last 16 are drawn again, over a part of the block before them.
    fill_uniform(all.last(kNormalBlock));
    transform(all.last(kNormalBlock));
  }
  return values;
}

double Generator::next_normal() {
  if (has_cached_normal_) {
    has_cached_normal_ = false;
    return cached_normal_;
  }
  const double u1 = uniform(0, 1, DType::kFloat64);
  const double u2 = uniform(0, 1, DType::kFloat64);
  const double radius = std::sqrt(-2 * std::log(1 - u2));
  const double angle = 2 * std::numbers::pi * u1;
  cached_normal_ = radius * std::sin(angle);
  has_cached_normal_ = true;
  return radius * std::cos(angle);
}

}  // namespace ringside
