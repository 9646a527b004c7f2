// Sums of chains against their definition, bit for bit, with vectors of every width that this
// processor has, for counts that leave every rest of a block.
#include "comm/chain_sum.h"

#include <gtest/gtest.h>

#include <vector>

namespace ringside {
namespace {

template <typename T>
class ChainSumVariants : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ChainSumVariants, Types);

// Thirds and sevenths: sums of them depend on their order and on every rounding.
template <typename T>
T contribution(std::size_t rank, std::size_t element) {
  return static_cast<T>(rank * 3 + element % 11 + 1) / static_cast<T>(element % 2 == 0 ? 3 : 7);
}

template <typename T>
std::vector<T> by_definition(std::size_t ranks, std::size_t count, bool scaled, T factor) {
  std::vector<T> sums(count);
  for (std::size_t i = 0; i < count; ++i) {
    volatile T sum = contribution<T>(0, i);  // volatile: every step is rounded
    if (scaled) sum = sum * factor;
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      volatile T value = contribution<T>(rank, i);
      if (scaled) value = value * factor;
      sum = sum + value;
    }
    sums[i] = sum;
  }
  return sums;
}

TYPED_TEST(ChainSumVariants, AddByDefinitionInPlaceAndElsewhere) {
  using T = TypeParam;
  const auto variants = chain_sum_variants::runnable<T>();
  ASSERT_FALSE(variants.empty());
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    for (const std::size_t ranks : {1, 2, 3, 8}) {
      for (const bool scaled : {false, true}) {
        for (std::size_t count = 0; count <= 150; ++count) {
          std::vector<std::vector<T>> data(ranks, std::vector<T>(count));
          for (std::size_t rank = 0; rank < ranks; ++rank) {
            for (std::size_t i = 0; i < count; ++i) data[rank][i] = contribution<T>(rank, i);
          }
          std::vector<T> elsewhere(count);
          std::vector<const T*> sources;
          std::vector<T*> destinations{elsewhere.data()};
          for (auto& values : data) {
            sources.push_back(values.data());
            destinations.push_back(values.data());
          }
          const T factor = T{1} / static_cast<T>(ranks);
          variants[variant]({sources.data(), static_cast<std::int64_t>(ranks), destinations.data(),
                             static_cast<std::int64_t>(destinations.size()),
                             static_cast<std::int64_t>(count), scaled, factor});
          const std::vector<T> expected = by_definition<T>(ranks, count, scaled, factor);
          ASSERT_EQ(elsewhere, expected) << "variant " << variant << ", " << ranks << " ranks, "
                                         << count << " elements, scaled: " << scaled;
          for (const auto& values : data) ASSERT_EQ(values, expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ringside
