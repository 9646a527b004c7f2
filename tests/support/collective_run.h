// Runs the cases of the matrix on a rank of any world.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "support/collective_case.h"
#include "support/device_arrays.h"

namespace ringside::test {

/// What a call left in its recv buffer.
using Bits = std::vector<std::byte>;

inline Bits bits_of(const DeviceArray& array) {
  const std::size_t size = array.count() * size_of(array.dtype);
  return {array.raw(), array.raw() + size};
}

// One buffer for both, where NCCL says in-place buffers lie: the smaller one is the rank's block of
// the larger one.
template <typename T>
void place_in_one_buffer(const CollectiveCase& c, Rank& rank, const std::vector<T>& input,
                         const BufferSizes& sizes, CollectiveCall& call) {
  const std::size_t larger = std::max(sizes.send, sizes.recv);
  const std::size_t own_block = block_begin(c, rank.rank);
  std::vector<T> memory(larger);
  const bool send_is_block = sizes.send < sizes.recv;
  std::copy(input.begin(), input.end(),
            memory.begin() + static_cast<std::ptrdiff_t>(send_is_block ? own_block : 0));
  const DeviceArray whole = array_of(rank.device, memory);
  const auto part = [&](std::size_t size) {
    return size == larger ? whole : whole.slice(own_block, size);
  };
  call.send = part(sizes.send);
  call.recv = part(sizes.recv);
}

template <typename T>
Bits run_typed_case(const CollectiveCase& c, Rank& rank, bool in_place) {
  const BufferSizes sizes = buffer_sizes(bare_call(c), rank.rank, c.ranks);
  std::vector<T> input(sizes.send);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = contribution<T>(c.seed, rank.rank, i);
  CollectiveCall call = bare_call(c);
  call.send = array_of(rank.device, input);
  call.recv = array_of(rank.device, std::vector<T>(sizes.recv));
  const bool may_be_in_place = c.operation != Operation::kAllToAll;
  if (in_place && may_be_in_place && sizes.send > 0 && sizes.recv > 0) {
    place_in_one_buffer(c, rank, input, sizes, call);
  }
  const DeviceArray result = call.recv;
  Communicator::Defaults defaults;
  defaults.pieces = c.pieces;
  defaults.node_size = c.node_size;
  rank.communicator.set_defaults(defaults);
  rank.communicator.call(std::move(call), communication(rank)).synchronize();
  if (!rank.device.executes() || sizes.recv == 0) return {};
  EXPECT_EQ(first_fault(c, rank.rank, result.data<T>()), "");
  return bits_of(result);
}

/// Makes the call of `c` on `rank`, and compares what it gets with the reference where the device
/// computes. The rank's result.
inline Bits run_case(const CollectiveCase& c, Rank& rank, bool in_place = false) {
  return visit_dtype(c.dtype, [&]<typename T>() { return run_typed_case<T>(c, rank, in_place); });
}

}  // namespace ringside::test
