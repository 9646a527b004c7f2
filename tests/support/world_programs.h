// What one rank does in tests that run on several backends: groups that mix operations, and
// communicators split from split ones. Their expectations are checked where the device computes.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "support/device_arrays.h"

namespace ringside::test {

/// Collectives, messages and two communicators in one group, begun in another order by odd ranks.
/// `part` has some of the world's ranks.
inline void mix_operations(Rank& rank, Communicator& part) {
  const int ranks = rank.communicator.size();
  const int next = (rank.rank + 1) % ranks;
  const int previous = (rank.rank + ranks - 1) % ranks;
  const auto places = static_cast<std::size_t>(ranks);
  const DeviceArray product = array_of<float>(rank.device, {1, 2});
  const DeviceArray mine = array_of<std::int32_t>(rank.device, {rank.rank, 10 * rank.rank});
  const DeviceArray theirs = array_of<std::int32_t>(rank.device, {-1, -1});
  const DeviceArray out = array_of<std::uint8_t>(
      rank.device, std::vector<std::uint8_t>(places, static_cast<std::uint8_t>(rank.rank)));
  const DeviceArray in = array_of<std::uint8_t>(rank.device, std::vector<std::uint8_t>(places));
  const DeviceArray last = array_of<double>(rank.device, {static_cast<double>(part.rank())});
  Stream& stream = communication(rank);
  Work message;
  {
    Communicator* both[] = {&rank.communicator, &part};
    const GroupScope group(both);
    const auto messages = [&] {
      rank.communicator.send(mine, 2, next, stream);
      message = rank.communicator.recv(theirs, 2, previous, stream);
    };
    if (rank.rank % 2 == 0) messages();
    rank.communicator.all_reduce(product, product, 2, ReduceOp::kProd, stream);
    part.broadcast(last, last, 1, part.size() - 1, stream);
    rank.communicator.all_to_all(out, in, 1, stream);
    if (rank.rank % 2 != 0) messages();
  }
  message.synchronize();
  if (!rank.device.executes()) return;
  std::vector<std::uint8_t> everyone;
  for (int r = 0; r < ranks; ++r) everyone.push_back(static_cast<std::uint8_t>(r));
  EXPECT_EQ(values_of<float>(product), (std::vector<float>{1, static_cast<float>(1 << ranks)}));
  EXPECT_EQ(values_of<std::int32_t>(theirs), (std::vector<std::int32_t>{previous, 10 * previous}));
  EXPECT_EQ(values_of<std::uint8_t>(in), everyone);
  EXPECT_EQ(values_of<double>(last), (std::vector<double>{static_cast<double>(part.size() - 1)}));
}

/// All-reduces the world's ranks over the members of `part`.
inline void expect_sum_of_ranks(Communicator& part, Rank& rank) {
  int expected = 0;
  for (const int member : part.world_ranks()) expected += member;
  const DeviceArray sum = array_of<std::int32_t>(rank.device, {rank.rank});
  part.all_reduce(sum, sum, 1, ReduceOp::kSum, communication(rank)).synchronize();
  if (!rank.device.executes()) return;
  EXPECT_EQ(sum.data<std::int32_t>()[0], expected);
}

/// Which of the next level's communicators a member of `parent` is in: a half while there are two
/// ranks, then the same one again. Their ranks are in reverse order: the key is -rank.
inline int color_of_half(const Communicator& parent) {
  return parent.size() > 1 ? parent.rank() / ((parent.size() + 1) / 2) : 0;
}

/// Splits six times in a row, and uses every level when it is made and at the end.
inline void split_splits(Rank& rank) {
  std::vector<std::unique_ptr<Communicator>> levels;
  for (int depth = 0; depth < 6; ++depth) {
    Communicator& parent = levels.empty() ? rank.communicator : *levels.back();
    levels.push_back(parent.split(color_of_half(parent), -parent.rank()));
    expect_sum_of_ranks(*levels.back(), rank);
  }
  for (const auto& level : levels) expect_sum_of_ranks(*level, rank);
  expect_sum_of_ranks(rank.communicator, rank);
}

}  // namespace ringside::test
