#include "ringside/inline_vector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ringside {
namespace {

using Held = std::shared_ptr<int>;
using List = InlineVector<Held, 3>;

/// Of the numbers 0 to size - 1.
List numbers(int size) {
  List list;
  for (int i = 0; i < size; ++i) list.push_back(std::make_shared<int>(i));
  return list;
}

std::vector<int> values(const List& list) {
  std::vector<int> result;
  for (const Held& held : list) result.push_back(*held);
  return result;
}

std::vector<int> first(int count) {
  std::vector<int> result;
  for (int i = 0; i < count; ++i) result.push_back(i);
  return result;
}

class InlineVectorOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, InlineVectorOf, testing::Range(0, 8));

TEST_P(InlineVectorOf, HoldsWhatWasAppended) {
  const List list = numbers(GetParam());
  EXPECT_EQ(values(list), first(GetParam()));
  EXPECT_EQ(list.size(), static_cast<std::size_t>(GetParam()));
  EXPECT_EQ(list.empty(), GetParam() == 0);
}

TEST_P(InlineVectorOf, ShrinksAndGrowsAndKeepsWhatStays) {
  for (int size = 0; size <= 8; ++size) {
    List list = numbers(GetParam());
    list.resize(static_cast<std::size_t>(size));
    const int kept = std::min(size, GetParam());
    for (int i = 0; i < kept; ++i) EXPECT_EQ(*list[static_cast<std::size_t>(i)], i);
    for (int i = kept; i < size; ++i) EXPECT_EQ(list[static_cast<std::size_t>(i)], nullptr);
  }
}

TEST_P(InlineVectorOf, LetsGoOfWhatIsTakenOut) {
  List list = numbers(GetParam());
  while (!list.empty()) {
    const std::weak_ptr<int> last = list.back();
    list.pop_back();
    EXPECT_TRUE(last.expired());
  }
}

TEST_P(InlineVectorOf, IsEmptyAfterItWasMoved) {
  List list = numbers(GetParam());
  List moved = std::move(list);
  EXPECT_TRUE(list.empty());  // NOLINT(bugprone-use-after-move): what this test asks
  EXPECT_EQ(values(moved), first(GetParam()));
  list = std::move(moved);
  EXPECT_EQ(values(list), first(GetParam()));
  list.push_back(std::make_shared<int>(GetParam()));
  EXPECT_EQ(values(list), first(GetParam() + 1));
  const List copy = list;
  EXPECT_EQ(values(copy), values(list));
}

// Of numbers nothing is left behind by a move: what is new is 0 nevertheless.
TEST(InlineVector, NewNumbersAreZero) {
  InlineVector<int, 2> numbers{1, 2};
  numbers.push_back(3);
  numbers.clear();
  numbers.resize(2);
  EXPECT_EQ(numbers[0], 0);
  EXPECT_EQ(numbers[1], 0);
  numbers = {4, 5};
  const InlineVector<int, 2> moved = std::move(numbers);
  numbers.resize(1);  // NOLINT(bugprone-use-after-move): what this test asks
  EXPECT_EQ(numbers[0], 0);
  EXPECT_EQ(moved[1], 5);
}

TEST(InlineVector, IsMadeFromListsAndSizes) {
  const auto one = std::make_shared<int>(0);
  EXPECT_EQ(values(List({one, std::make_shared<int>(1)})), first(2));
  EXPECT_EQ(values(List(std::vector<Held>(4, one))), (std::vector<int>{0, 0, 0, 0}));
  List sized(2);
  EXPECT_EQ(sized.size(), 2U);
  EXPECT_EQ(sized.at(1), nullptr);
  EXPECT_THROW(sized.at(2), std::out_of_range);
}

}  // namespace
}  // namespace ringside
