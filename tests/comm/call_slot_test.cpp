#include "comm/call_slot.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace ringside {
namespace {

using Sequence = SlotSequence<std::shared_ptr<CallSlot>>;

std::shared_ptr<CallSlot> next(Sequence& sequence, int rank) {
  return sequence.next(rank,
                       [](std::int64_t number) { return std::make_shared<CallSlot>(number, 2); });
}

std::vector<std::int64_t> open(const Sequence& sequence) {
  std::vector<std::int64_t> numbers;
  for (const auto& slot : sequence.open()) numbers.push_back(slot->sequence());
  return numbers;
}

using Numbers = std::vector<std::int64_t>;

TEST(SlotSequence, TheNthCallsOfAllRanksMeet) {
  Sequence sequence(2);
  const auto first = next(sequence, 0);
  const auto second = next(sequence, 0);
  EXPECT_EQ(next(sequence, 1), first);
  EXPECT_EQ(next(sequence, 1), second);
  EXPECT_EQ(open(sequence), (Numbers{1, 2}));
}

TEST(SlotSequence, SlotsCloseInAnyOrder) {
  Sequence sequence(2);
  for (int i = 0; i < 6; ++i) next(sequence, 0);
  sequence.close(3);
  sequence.close(1);
  EXPECT_EQ(open(sequence), (Numbers{2, 4, 5, 6}));
  sequence.close(2);
  sequence.close(2);
  sequence.close(6);
  EXPECT_EQ(open(sequence), (Numbers{4, 5}));
  sequence.close(5);
  sequence.close(4);
  EXPECT_EQ(open(sequence), Numbers{});
  EXPECT_EQ(next(sequence, 0)->sequence(), 7);
}

TEST(SlotSequence, AClosedSlotIsLetGo) {
  Sequence sequence(2);
  const std::weak_ptr<CallSlot> first = next(sequence, 0);
  next(sequence, 0);
  next(sequence, 0);
  sequence.close(1);
  EXPECT_TRUE(first.expired());
}

TEST(SlotSequence, RealignedRanksGoOnWithTheSameNumber) {
  Sequence sequence(2);
  for (int i = 0; i < 4; ++i) next(sequence, 0);
  sequence.close(1);
  const auto forgotten =
      sequence.realign([](const CallSlot& slot) { return slot.sequence() != 3; });
  ASSERT_EQ(forgotten.size(), 2U);
  EXPECT_EQ(forgotten.front()->sequence(), 2);
  EXPECT_EQ(open(sequence), Numbers{3});
  EXPECT_EQ(next(sequence, 1)->sequence(), 5);
  EXPECT_EQ(sequence.last(0), 4);
}

TEST(CallSlot, IsAsNewAfterAReset) {
  CallSlot slot(1, 2);
  const CallSignature split = split_signature(2);
  EXPECT_FALSE(slot.call(0, split));
  EXPECT_TRUE(slot.call(1, split));
  slot.reset(7);
  EXPECT_EQ(slot.sequence(), 7);
  EXPECT_FALSE(slot.called(0));
  EXPECT_FALSE(slot.complete());
  EXPECT_FALSE(slot.call(1, split));
  EXPECT_TRUE(slot.call(0, split));
}

}  // namespace
}  // namespace ringside
