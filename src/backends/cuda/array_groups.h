// Arrays in groups that fit into the arguments of one launch (4 KB): so the gradients of a whole
// model take few launches, and their addresses no copy to the GPU. Pure; needs no GPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ringside/device.h"

namespace ringside::cuda {

template <typename T>
struct ArrayGroup {
  static constexpr int kMost = 128;
  T* arrays[kMost];
  std::int64_t counts[kMost];
  int number = 0;
  int first = 0;  ///< which of all arrays arrays[0] is
};

/// Calls visit(group) for all arrays in order.
template <typename T, typename Visit>
void for_each_group(std::span<const DeviceArray> arrays, const Visit& visit) {
  constexpr std::size_t kMost = ArrayGroup<T>::kMost;
  for (std::size_t first = 0; first < arrays.size(); first += kMost) {
    ArrayGroup<T> group;
    group.first = static_cast<int>(first);
    for (const DeviceArray& array : arrays.subspan(first, std::min(kMost, arrays.size() - first))) {
      group.arrays[group.number] = array.data<T>();
      group.counts[group.number] = static_cast<std::int64_t>(array.count());
      ++group.number;
    }
    visit(group);
  }
}

}  // namespace ringside::cuda
