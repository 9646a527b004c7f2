#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ringside/trace.h"
#include "support/ranks.h"
#include "trace/fake_device.h"
#include "trace/recorded_ops.h"

namespace ringside {
namespace {

using test::array_of;
using test::at_step;
using test::FakeDevice;
using test::op_named;
using test::submit;
using test::submit_filling;

std::vector<std::string> names(const Trace& trace) {
  std::vector<std::string> result;
  for (const TraceOp& op : trace.ops) result.push_back(op.name);
  return result;
}

TEST(Recorder, WritesDownWhatAnOpSays) {
  Recorder recorder({});
  FakeDevice device(2, &recorder);
  device.context() = {1, Phase::kAllReduce, 3, "replica 2", true};
  const DeviceArray array = array_of<float>(device, 6);
  const DeviceArray absent;
  const std::vector<TensorRef> refs = {{"bucket 3", &array}, {"nothing", &absent}};
  const std::vector<int> world_ranks = {2, 5};
  CollectiveInfo collective;
  collective.request.ranks = 2;
  collective.request.count = 6;
  collective.op = ReduceOp::kAvg;
  collective.communicator = 4;
  collective.sequence = 9;
  collective.world_ranks = world_ranks;
  OpInfo info = op_named("all-reduce", OpKind::kCollective);
  info.label = "bucket 3";
  info.flops = 12;
  info.bytes = 24;
  info.reads = refs;
  info.collective = &collective;
  info.peer = 5;
  device.stream(StreamKind::kCommunication).submit(info, [](LaunchContext&) {});
  device.synchronize();
  TraceRun run;
  run.devices = 6;
  const Trace trace = recorder.take(run);

  TraceOp expected;
  expected.id = 0;
  expected.kind = OpKind::kCollective;
  expected.name = "all-reduce";
  expected.label = "bucket 3";
  expected.step = 1;
  expected.phase = Phase::kAllReduce;
  expected.rank = 2;
  expected.stream = StreamKind::kCommunication;
  expected.host_thread = "replica 2";
  expected.bucket = 3;
  expected.peer = 5;
  expected.flops = 12;
  expected.bytes = 24;
  TraceTensor tensor;
  tensor.name = "bucket 3";
  tensor.shape = {6};
  expected.reads = {tensor};
  expected.collective = TraceCollective{collective.request, ReduceOp::kAvg, 4, 9, 0, {2, 5}};
  EXPECT_EQ(trace.run, run);
  ASSERT_EQ(trace.ops.size(), 1U);
  EXPECT_EQ(trace.ops[0], expected);
}

// Descriptions are kept once, and what came next the last time is guessed to come next again.
TEST(Recorder, TellsOpsApartByWhatTheySayAndNotWhereItStands) {
  Recorder recorder({});
  FakeDevice device(0, &recorder);
  at_step(device, 0);
  std::string name;  // at one address
  DeviceArray array = array_of<float>(device, 4);
  const auto submit_array = [&](std::string_view said) {
    name = said;
    const TensorRef read{name, &array};
    OpInfo info = op_named(name);
    info.label = name;
    info.reads = {&read, 1};
    device.compute().submit(info, [](LaunchContext&) {});
  };
  for (const char* said : {"a", "b", "a", "c", "a", "b"}) submit_array(said);
  array.shape = {2, 2};
  submit_array("a");
  array.dtype = DType::kInt32;
  submit_array("a");
  device.context().bucket = 1;
  submit_array("a");
  const Trace trace = recorder.take({});
  EXPECT_EQ(names(trace), (std::vector<std::string>{"a", "b", "a", "c", "a", "b", "a", "a", "a"}));
  for (const TraceOp& op : trace.ops) {
    EXPECT_EQ(op.label, op.name);
    ASSERT_EQ(op.reads.size(), 1U);
    EXPECT_EQ(op.reads[0].name, op.name);
    EXPECT_EQ(op.reads[0].shape, op.id < 6 ? Shape{4} : (Shape{2, 2}));
    EXPECT_EQ(op.reads[0].dtype, op.id < 7 ? DType::kFloat32 : DType::kInt32);
    EXPECT_EQ(op.bucket, op.id < 8 ? -1 : 1);
  }
}

TEST(Recorder, KeepsThousandsOfDifferentOps) {
  constexpr int kOps = 3000;
  Recorder recorder({});
  FakeDevice device(0, &recorder);
  for (int step = 0; step < 2; ++step) {
    at_step(device, step);
    for (int op = 0; op < kOps; ++op) submit(device, "op " + std::to_string(op));
  }
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.ops.size(), std::size_t{2 * kOps});
  for (int op = 0; op < 2 * kOps; ++op) {
    const TraceOp& recorded = trace.ops[static_cast<std::size_t>(op)];
    EXPECT_EQ(recorded.name, "op " + std::to_string(op % kOps));
    EXPECT_EQ(recorded.step, op / kOps);
  }
}

TEST(Recorder, CollectivesDifferInTheirSequenceNumbers) {
  Recorder recorder({});
  FakeDevice device(0, &recorder);
  const std::vector<int> world_ranks = {0, 3};
  CollectiveInfo collective;
  collective.request.ranks = 2;
  collective.world_ranks = world_ranks;
  OpInfo info = op_named("all-reduce", OpKind::kCollective);
  info.collective = &collective;
  for (int step = 0; step < 3; ++step) {
    at_step(device, step);
    collective.sequence = 2 * step + 1;
    device.compute().submit(info, [](LaunchContext&) {});
  }
  collective.request.counts = {1, 2};
  device.compute().submit(info, [](LaunchContext&) {});
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.ops.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(trace.ops[i].collective->sequence, 2 * static_cast<std::int64_t>(i) + 1);
    EXPECT_TRUE(trace.ops[i].collective->request.counts.empty());
  }
  EXPECT_EQ(trace.ops[3].collective->request.counts, (std::vector<std::size_t>{1, 2}));
}

TEST(Recorder, KeepsStepsOfItsWindowAndTheSetup) {
  TraceOptions options;
  options.first_step = 1;
  options.last_step = 2;
  Recorder recorder(options);
  FakeDevice device(0, &recorder);
  submit(device, "construct");
  for (int step = 0; step < 5; ++step) {
    at_step(device, step);
    submit(device, "step " + std::to_string(step));
    at_step(device, -1, Phase::kEvaluate);
    submit(device, "evaluate");  // between steps: no setup any more
  }
  EXPECT_EQ(names(recorder.take({})), (std::vector<std::string>{"construct", "step 1", "step 2"}));
}

TEST(Recorder, LeavesTheSetupOutWhenAsked) {
  TraceOptions options;
  options.setup = false;
  Recorder recorder(options);
  FakeDevice device(0, &recorder);
  submit(device, "construct");
  at_step(device, 0);
  submit(device, "linear");
  EXPECT_EQ(names(recorder.take({})), std::vector<std::string>{"linear"});
}

TEST(Recorder, DependenciesAreStreamOrderAndEvents) {
  Recorder recorder({});
  FakeDevice home(0, &recorder);
  FakeDevice other(1, &recorder);
  at_step(home, 0);
  at_step(other, 0);
  submit(home, "a");
  submit(other, "b");
  home.stream(StreamKind::kCommunication).wait(other.compute().record());
  home.stream(StreamKind::kCommunication).wait(home.compute().record());
  submit(home, "c", StreamKind::kCommunication);
  other.compute().wait(home.stream(StreamKind::kCommunication).record());
  const Trace trace = recorder.take({});
  ASSERT_EQ(names(trace),
            (std::vector<std::string>{"a", "b", "wait-event", "wait-event", "c", "wait-event"}));
  EXPECT_TRUE(trace.ops[0].dependencies.empty());
  EXPECT_TRUE(trace.ops[1].dependencies.empty());
  EXPECT_EQ(trace.ops[2].dependencies, (std::vector<OpId>{1}));
  EXPECT_EQ(trace.ops[3].dependencies, (std::vector<OpId>{0, 2}));
  EXPECT_EQ(trace.ops[4].dependencies, (std::vector<OpId>{3}));
  EXPECT_EQ(trace.ops[5].dependencies, (std::vector<OpId>{1, 4}));
  EXPECT_EQ(trace.ops[5].kind, OpKind::kWait);
}

TEST(Recorder, HostOpsAreInOrderPerHostThread) {
  Recorder recorder({});
  FakeDevice device(0, &recorder);
  at_step(device, 0);
  const auto host = [&](std::string_view thread, std::string_view name, OpId awaited = kNoOp) {
    device.context().host_thread = thread;
    OpInfo info = op_named(name, OpKind::kHost);
    info.awaited = awaited;
    return recorder.on_host(device, info);
  };
  host("loader", "read 0");
  host("main", "prepare");
  host("loader", "read 1");
  device.context().host_thread = "loader";
  submit(device, "copy");        // after read 1, on whose thread it was submitted
  submit(device, "copy again");  // that it comes after read 1 is implied by the stream
  device.context().host_thread = "main";
  submit(device, "linear");  // after prepare
  host("main", "wait for the stream", device.compute().last_op());
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.ops.size(), 7U);
  EXPECT_EQ(trace.ops[2].dependencies, (std::vector<OpId>{0}));
  EXPECT_FALSE(trace.ops[2].stream.has_value());
  EXPECT_EQ(trace.ops[3].dependencies, (std::vector<OpId>{2}));
  EXPECT_EQ(trace.ops[4].dependencies, (std::vector<OpId>{3}));
  EXPECT_EQ(trace.ops[5].dependencies, (std::vector<OpId>{1, 4}));
  EXPECT_EQ(trace.ops[6].dependencies, (std::vector<OpId>{1, 5}));
}

TEST(Recorder, StampsTimesAroundTheOp) {
  TraceOptions options;
  options.times = true;
  Recorder recorder(options);
  FakeDevice device(0, &recorder);
  at_step(device, 0);
  device.compute().submit(op_named("sleep"), [](LaunchContext&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  device.synchronize();
  const Trace trace = recorder.take({});
  ASSERT_TRUE(trace.ops[0].measured_start.has_value());
  EXPECT_GE(*trace.ops[0].measured_start, 0);
  EXPECT_GE(*trace.ops[0].measured_end - *trace.ops[0].measured_start, 5e-3);
}

TEST(Recorder, NotesMemoryOfRecordedSteps) {
  Recorder recorder({});
  FakeDevice one(1, &recorder);
  FakeDevice zero(0, &recorder);
  for (const int step : {0, 1, 7}) {
    for (FakeDevice* device : {&one, &zero}) {
      at_step(*device, step, Phase::kUpdate);
      device->account.used =
          std::size_t{100} * static_cast<std::size_t>(step) + (device == &one ? 1 : 0);
      recorder.note_memory(*device);
    }
  }
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.memory.size(), 4U);
  const std::vector<std::size_t> used = {0, 1, 100, 101};
  for (std::size_t i = 0; i < used.size(); ++i) EXPECT_EQ(trace.memory[i].account.used, used[i]);
  EXPECT_EQ(trace.memory[0].phase, Phase::kUpdate);
}

TEST(Recorder, StartsAfreshAfterATake) {
  Recorder recorder({});
  FakeDevice device(0, &recorder);
  at_step(device, 0);
  submit(device, "first");
  const std::shared_ptr<Event> old = device.compute().record();
  EXPECT_EQ(recorder.take({}).ops.size(), 1U);
  at_step(device, 1);
  device.stream(StreamKind::kCopy).wait(old);
  submit(device, "second");
  const Trace trace = recorder.take({});
  EXPECT_EQ(names(trace), (std::vector<std::string>{"wait-event", "second"}));
  EXPECT_TRUE(trace.ops[0].dependencies.empty());  // what it waits for is in the trace before
  EXPECT_TRUE(trace.ops[1].dependencies.empty());
  EXPECT_TRUE(recorder.take({}).ops.empty());
}

/// Four ranks on threads of their own; each op of rank r waits for one of rank r-1.
Trace record_on_threads(std::uint32_t seed) {
  constexpr int kRanks = 4;
  constexpr int kOps = 20;
  Recorder recorder({});
  std::vector<std::unique_ptr<FakeDevice>> devices;
  std::vector<std::vector<std::promise<std::shared_ptr<Event>>>> events(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    devices.push_back(std::make_unique<FakeDevice>(rank, &recorder));
    events[static_cast<std::size_t>(rank)].resize(kOps);
  }
  test::run_ranks(kRanks, [&](int rank) {
    std::mt19937 random(seed + static_cast<std::uint32_t>(rank));
    FakeDevice& device = *devices[static_cast<std::size_t>(rank)];
    const DeviceArray array = array_of<float>(device, 1);
    for (int i = 0; i < kOps; ++i) {
      at_step(device, i / 10);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
      if (rank > 0) {
        device.compute().wait(
            events[static_cast<std::size_t>(rank) - 1][static_cast<std::size_t>(i)]
                .get_future()
                .get());
      }
      submit_filling<float>(device, array, {static_cast<float>(i)});
      events[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)].set_value(
          device.compute().record());
    }
    device.synchronize();
  });
  TraceRun run;
  run.devices = kRanks;
  return recorder.take(run);
}

TEST(Recorder, GivesTheSameTraceWhateverTheTiming) {
  const Trace expected = record_on_threads(0);
  EXPECT_EQ(trace_from_json(trace_to_json(expected), "t.json"), expected);
  for (std::uint32_t seed = 1; seed < 10; ++seed) EXPECT_EQ(record_on_threads(seed), expected);
}

TEST(Recorder, MakesRoomForRanksThatAppearAtOnce) {
  constexpr int kRanks = 24;
  Recorder recorder({});
  test::run_ranks(kRanks, [&](int rank) {
    FakeDevice device(kRanks - 1 - rank, &recorder);  // the highest first
    for (int step = 0; step < 50; ++step) {
      at_step(device, step % 3);
      submit(device, "op of " + std::to_string(device.rank()));
    }
  });
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.ops.size(), std::size_t{kRanks * 50});
  for (const TraceOp& op : trace.ops) EXPECT_EQ(op.name, "op of " + std::to_string(op.rank));
}

}  // namespace
}  // namespace ringside
