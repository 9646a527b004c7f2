// Arrays with given values in a rank's device memory, on any backend that computes on the host.

#pragma once

#include <algorithm>
#include <vector>

#include "ringside/world.h"

namespace ringside::test {

inline Stream& communication(Rank& rank) { return rank.device.stream(StreamKind::kCommunication); }

/// An array of `values` in device memory, filled on the device's communication stream.
template <typename T>
DeviceArray array_of(Device& device, const std::vector<T>& values) {
  const auto shape = Shape{static_cast<std::int64_t>(values.size())};
  DeviceArray array = device.allocate(values.size() * sizeof(T), MemoryKind::kWorkspace)
                          .array(dtype_of<T>(), shape);
  device.stream(StreamKind::kCommunication).enqueue([array, values](LaunchContext&) {
    std::copy(values.begin(), values.end(), array.template data<T>());
  });
  return array;
}

template <typename T>
std::vector<T> values_of(const DeviceArray& array) {
  const auto elements = array.elements<T>();
  return {elements.begin(), elements.end()};
}

}  // namespace ringside::test
