// What the recorder's tests submit to a fake device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/fake_device.h"

namespace ringside::test {

inline OpInfo op_named(std::string_view name, OpKind kind = OpKind::kCompute) {
  OpInfo info;
  info.kind = kind;
  info.name = name;
  return info;
}

inline void submit(FakeDevice& device, std::string_view name,
                   StreamKind stream = StreamKind::kCompute) {
  device.stream(stream).submit(op_named(name), [](LaunchContext&) {});
}

/// Submits an op whose launch fills `array` with `values`.
template <typename T>
void submit_filling(FakeDevice& device, const DeviceArray& array, const std::vector<T>& values) {
  const TensorRef written{"x", &array};
  OpInfo info = op_named("fill");
  info.writes = {&written, 1};
  device.compute().submit(info, [array, values](LaunchContext&) {
    std::copy(values.begin(), values.end(), array.data<T>());
  });
}

template <typename T>
DeviceArray array_of(FakeDevice& device, std::size_t count) {
  const Shape shape = {static_cast<std::int64_t>(count)};
  return device.allocate(count * sizeof(T), MemoryKind::kActivations).array(dtype_of<T>(), shape);
}

inline void at_step(FakeDevice& device, int step, Phase phase = Phase::kForward) {
  device.context().step = step;
  device.context().phase = phase;
}

}  // namespace ringside::test
