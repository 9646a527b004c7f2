#include "ringside/inline_function.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace ringside {
namespace {

using Add = InlineFunction<int(int), 32>;

/// Where a callable's captures lie.
template <std::size_t kBytes>
struct Located {
  std::array<std::byte, kBytes> captures{};
  const void* operator()(int) const { return this; }
};

template <std::size_t kBytes>
bool lies_in(const InlineFunction<const void*(int), kBytes>& function) {
  const auto* begin = reinterpret_cast<const std::byte*>(&function);
  const auto* place = static_cast<const std::byte*>(function(0));
  return place >= begin && place < begin + sizeof(function);
}

TEST(InlineFunction, CallsWhatItHolds) {
  int calls = 0;
  const Add add = [&calls](int x) { return x + ++calls; };
  EXPECT_EQ(add(10), 11);
  EXPECT_EQ(add(10), 12);
}

TEST(InlineFunction, IsEmptyUntilItHoldsSomethingAndAfterItWasMoved) {
  Add empty;
  EXPECT_FALSE(empty);
  Add add = [](int x) { return x; };
  EXPECT_TRUE(add);
  empty = std::move(add);
  EXPECT_TRUE(empty);
  EXPECT_FALSE(add);  // NOLINT(bugprone-use-after-move): what this test asks
  EXPECT_EQ(empty(3), 3);
}

TEST(InlineFunction, KeepsInPlaceWhatFitsAndTheRestOnTheHeap) {
  EXPECT_TRUE(lies_in<64>(Located<64>()));
  EXPECT_FALSE(lies_in<64>(Located<65>()));
  InlineFunction<const void*(int), 64> large = Located<65>();
  const void* place = large(0);
  const InlineFunction<const void*(int), 64> moved = std::move(large);
  EXPECT_EQ(moved(0), place);
}

TEST(InlineFunction, HoldsWhatCannotBeCopied) {
  auto owned = std::make_unique<int>(5);
  const Add add = [owned = std::move(owned)](int x) { return x + *owned; };
  EXPECT_EQ(add(1), 6);
}

TEST(InlineFunction, LetsGoOfItsCapturesOnce) {
  const auto held = std::make_shared<int>(7);
  const auto with = [&held](auto padding) {
    return Add([held, padding](int x) { return x + *held + padding[0]; });
  };
  for (int size = 0; size < 2; ++size) {
    Add add = size == 0 ? with(std::array<char, 8>{}) : with(std::array<char, 80>{});
    EXPECT_EQ(held.use_count(), 2);
    Add moved = std::move(add);
    EXPECT_EQ(held.use_count(), 2);
    moved = [](int x) { return x; };
    EXPECT_EQ(held.use_count(), 1);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace ringside
