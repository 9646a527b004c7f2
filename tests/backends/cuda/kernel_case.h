// Kernels as a table: what each is called with, on random values and odd sizes, so that any two
// implementations can be compared.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ringside/kernels.h"

namespace ringside::test {

/// What an array is filled with before the call.
enum class Content : std::uint8_t {
  kRandom,    ///< between -1 and 1
  kPositive,  ///< between 0.5 and 1.5
  kZeros,
  kIndices  ///< int64 from 0 to below `limit`; every fourth is `odd_one`, if there is one
};

struct Argument {
  static constexpr std::int64_t kNoOddOne = std::numeric_limits<std::int64_t>::min();
  Shape shape;
  Content content = Content::kRandom;
  std::int64_t limit = 0;
  std::int64_t odd_one = kNoOddOne;
};

using Arrays = std::span<const DeviceArray>;

/// How far results may be apart: in units of the dtype's precision, relative to what is larger, the
/// value or 1.
struct Tolerance {
  double units;
  double of(DType dtype) const {
    return units * (dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                             : std::numeric_limits<double>::epsilon());
  }
};
inline constexpr Tolerance kExact{0};
inline constexpr Tolerance kRounding{64};  ///< a function, a quotient
inline constexpr Tolerance kSum{2048};     ///< sums of up to some thousand values, in other orders

struct KernelCase {
  std::string kernel;  ///< as in kernels.h
  std::string name;    ///< what is special about it
  std::vector<Argument> arguments;
  std::function<void(Kernels&, LaunchContext&, Arrays)> call;
  Tolerance tolerance = kExact;
};

/// Every kernel that has a CPU twin, one row each or more.
std::vector<KernelCase> elementwise_cases();
std::vector<KernelCase> image_cases();     ///< convolution, pooling, batch normalisation
std::vector<KernelCase> token_cases();     ///< products, embedding, attention, layer normalisation
std::vector<KernelCase> training_cases();  ///< losses, optimisers
std::vector<KernelCase> all_kernel_cases();

inline Argument random(const Shape& shape) { return {shape}; }
inline Argument positive(const Shape& shape) { return {shape, Content::kPositive}; }
inline Argument zeros(const Shape& shape) { return {shape, Content::kZeros}; }
inline Argument indices(const Shape& shape, std::int64_t limit,
                        std::int64_t odd_one = Argument::kNoOddOne) {
  return {shape, Content::kIndices, limit, odd_one};
}

}  // namespace ringside::test
