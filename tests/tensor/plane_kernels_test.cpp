// The inner loops of convolution against their definitions, with vectors of every width that this
// processor has, for counts that leave every rest of a block.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tensor/plane_kernels.h"
#include "tensor/plane_variants.h"
#include "tensor/random_values.h"

namespace ringside::test {
namespace {

template <typename T>
class PlaneKernel : public testing::Test {
 protected:
  static constexpr std::int64_t kRoom = 64;  // behind the positions, for whole vectors
  static std::vector<T> values(std::int64_t count, std::uint32_t seed) {
    const std::vector<double> random = random_values(count, seed);
    return {random.begin(), random.end()};
  }
  static double tolerance() { return sizeof(T) == 4 ? 1e-5 : 1e-13; }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(PlaneKernel, Types);

constexpr std::int64_t kOffsets[] = {0, 1, 7, 20, 21, 40, 41};

TYPED_TEST(PlaneKernel, CorrelatesByDefinition) {
  constexpr std::int64_t kTaps = 7;
  for (const auto& kernels : plane_variants::runnable<TypeParam>()) {
    for (std::int64_t outputs = 1; outputs <= 19; ++outputs) {
      for (const std::int64_t positions : {1, 5, 16, 17, 40}) {
        const auto in = this->values(kOffsets[kTaps - 1] + positions + this->kRoom, 1);
        const auto weights = this->values(kTaps * outputs, 2);
        const std::int64_t pitch = positions + this->kRoom;
        std::vector<TypeParam> out(static_cast<std::size_t>(outputs * pitch));
        kernels.correlate(
            {out.data(), pitch, in.data(), kOffsets, kTaps, weights.data(), outputs, positions});
        for (std::int64_t o = 0; o < outputs; ++o) {
          for (std::int64_t p = 0; p < positions; ++p) {
            double sum = 0;
            for (std::int64_t k = 0; k < kTaps; ++k) {
              sum += static_cast<double>(weights[k * outputs + o]) * in[kOffsets[k] + p];
            }
            ASSERT_NEAR(out[o * pitch + p], sum, this->tolerance())
                << kernels.lanes << " lanes, output " << o << " of " << outputs << ", position "
                << p << " of " << positions;
          }
        }
      }
    }
  }
}

TYPED_TEST(PlaneKernel, AddsProductsByDefinition) {
  constexpr std::int64_t kImages = 3;
  for (const auto& kernels : plane_variants::runnable<TypeParam>()) {
    for (std::int64_t outputs = 1; outputs <= 13; ++outputs) {
      for (std::int64_t taps = 1; taps <= 7; ++taps) {
        for (const std::int64_t positions : {1, 17, 40}) {
          const std::int64_t pitch = positions + this->kRoom;
          const std::int64_t in_stride = 41 + positions + this->kRoom;
          const auto in = this->values(kImages * in_stride, 1);
          auto gradient = this->values(kImages * outputs * pitch, 2);
          for (std::int64_t row = 0; row < kImages * outputs; ++row) {
            std::fill_n(gradient.begin() + row * pitch + positions, this->kRoom, TypeParam(0));
          }
          std::vector<TypeParam> sums(static_cast<std::size_t>(outputs * taps), TypeParam(2));
          kernels.add_products({sums.data(), gradient.data(), outputs * pitch, pitch, in.data(),
                                in_stride, kOffsets, taps, outputs, kImages, positions});
          for (std::int64_t o = 0; o < outputs; ++o) {
            for (std::int64_t k = 0; k < taps; ++k) {
              double sum = 2;
              for (std::int64_t i = 0; i < kImages; ++i) {
                for (std::int64_t p = 0; p < positions; ++p) {
                  sum += static_cast<double>(gradient[(i * outputs + o) * pitch + p]) *
                         in[i * in_stride + kOffsets[k] + p];
                }
              }
              ASSERT_NEAR(sums[o * taps + k], sum, 4 * this->tolerance())
                  << kernels.lanes << " lanes, output " << o << " of " << outputs << ", tap " << k
                  << " of " << taps;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ringside::test
