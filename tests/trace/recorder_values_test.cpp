// What the recorder keeps of the values that an op wrote.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ringside/trace.h"
#include "trace/fake_device.h"
#include "trace/recorded_ops.h"

namespace ringside {
namespace {

using test::array_of;
using test::at_step;
using test::FakeDevice;
using test::submit_filling;

TEST(RecorderValues, KeepsSmallValuesWhole) {
  Recorder recorder({});
  FakeDevice device(0, &recorder);
  at_step(device, 0);
  const DeviceArray array = array_of<float>(device, 3);
  submit_filling<float>(device, array, {1, -0.5, 3});
  submit_filling<float>(device, array, {4, 5, 6});
  device.synchronize();
  const Trace trace = recorder.take({});
  EXPECT_EQ(trace.ops[0].writes[0].values, (std::vector<double>{1, -0.5, 3}));
  EXPECT_EQ(trace.ops[1].writes[0].values, (std::vector<double>{4, 5, 6}));
  EXPECT_FALSE(trace.ops[0].writes[0].norm.has_value());
}

TEST(RecorderValues, KeepsOfLargeOnesNormAndChecksum) {
  Recorder recorder({});
  FakeDevice device(0, &recorder);
  at_step(device, 0);
  const DeviceArray array = array_of<float>(device, 40000);  // more than one piece
  submit_filling<float>(device, array, std::vector<float>(40000, 0.5F));
  device.synchronize();
  const Trace trace = recorder.take({});
  const TraceTensor& tensor = trace.ops[0].writes[0];
  EXPECT_TRUE(tensor.values.empty());
  EXPECT_DOUBLE_EQ(tensor.norm.value(), 100);
  std::uint64_t checksum = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < array.bytes(); ++i) {
    checksum = (checksum ^ static_cast<std::uint64_t>(array.raw()[i])) * 0x100000001b3U;
  }
  EXPECT_EQ(tensor.checksum.value(), checksum);
}

TEST(RecorderValues, AnIntegerThatADoubleCannotHoldIsNotRounded) {
  Recorder recorder({});
  FakeDevice device(0, &recorder);
  at_step(device, 0);
  const DeviceArray array = array_of<std::int64_t>(device, 1);
  submit_filling<std::int64_t>(device, array, {(std::int64_t{1} << 53) + 1});
  device.synchronize();
  const Trace trace = recorder.take({});
  EXPECT_TRUE(trace.ops[0].writes[0].values.empty());
  EXPECT_TRUE(trace.ops[0].writes[0].checksum.has_value());
}

TEST(RecorderValues, KeepsTheTensorAliveUntilItHasBeenRead) {
  Recorder recorder({});
  FakeDevice device(0, &recorder);
  at_step(device, 0);
  {
    const DeviceArray array = array_of<double>(device, 2);
    submit_filling<double>(device, array, {7, 8});
  }
  device.synchronize();
  EXPECT_EQ(recorder.take({}).ops[0].writes[0].values, (std::vector<double>{7, 8}));
}

// On a native stream a copy to the host may end after the launch has returned.
TEST(RecorderValues, LooksAtNativeCopiesWhenTheTraceIsTaken) {
  Recorder recorder({});
  FakeDevice device(0, &recorder);
  at_step(device, 0);
  int native = 0;
  device.stream(StreamKind::kCompute).set_native(&native);
  const DeviceArray array = array_of<float>(device, 2);
  submit_filling<float>(device, array, {1, 2});
  device.synchronize();
  EXPECT_EQ(recorder.take({}).ops[0].writes[0].values, (std::vector<double>{1, 2}));
}

TEST(RecorderValues, HasNoValuesWhereLaunchesNeverRun) {
  Recorder recorder({});
  FakeDevice meta(0, &recorder, false);
  FakeDevice failed(1, &recorder);
  for (FakeDevice* device : {&meta, &failed}) {
    at_step(*device, 0);
    const DeviceArray array = array_of<float>(*device, 2);
    submit_filling<float>(*device, array, {1, 2});
  }
  EXPECT_EQ(meta.stream(StreamKind::kCompute).waiting(), 1U);  // the op alone
  failed.stream(StreamKind::kCompute).drop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.ops.size(), 2U);
  for (const TraceOp& op : trace.ops) {
    EXPECT_EQ(op.writes[0].shape, Shape{2});
    EXPECT_TRUE(op.writes[0].values.empty());
    EXPECT_FALSE(op.writes[0].checksum.has_value());
  }
}

TEST(RecorderValues, AddsNoLaunchesWhenItIsNotAsked) {
  TraceOptions options;
  options.values = false;
  Recorder recorder(options);
  FakeDevice device(0, &recorder);
  at_step(device, 0);
  const DeviceArray array = array_of<float>(device, 2);
  submit_filling<float>(device, array, {1, 2});
  at_step(device, 99);
  submit_filling<float>(device, array, {1, 2});
  EXPECT_EQ(device.stream(StreamKind::kCompute).waiting(), 2U);
}
}  // namespace
}  // namespace ringside
