// The recorder on worlds: what ranks on threads do through tensors and communicators becomes the
// same trace every time, whatever the timing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ringside/tensor.h"
#include "ringside/timeline.h"
#include "ringside/trace.h"
#include "ringside/world.h"

namespace ringside {
namespace {

constexpr int kRanks = 3;

/// One step that uses every kind of op: an all-reduce beside compute, a gather of unequal parts, a
/// message.
void step(Rank& rank) {
  Device& device = rank.device;
  device.context().step = 0;
  device.context().phase = Phase::kForward;
  Stream& communication = device.stream(StreamKind::kCommunication);
  const std::vector<double> values = {1.0 + rank.rank, 2, 3, 4};
  Tensor x = Tensor::from_host(device, Shape{4}, DType::kFloat32, values, MemoryKind::kInputs, "x");
  Tensor y = relu(x);

  device.context().phase = Phase::kAllReduce;
  communication.wait(device.compute().record());
  Work sum = rank.communicator.all_reduce(y.array(), y.array(), 4, ReduceOp::kSum, communication);
  const Tensor beside = tanh(x);
  sum.wait(device.compute());
  add_in_place(y, beside);

  device.context().phase = Phase::kGatherOutput;
  const std::vector<std::size_t> counts = {2, 1, 1};
  const Tensor whole =
      Tensor::full(device, Shape{4}, DType::kFloat32, 0, MemoryKind::kOutputs, "whole");
  rank.communicator.gather(y.array().slice(0, counts[static_cast<std::size_t>(rank.rank)]),
                           rank.rank == 0 ? whole.array() : DeviceArray{}, counts, 0,
                           device.compute());

  if (rank.rank == 1) rank.communicator.send(y.array(), 4, 2, device.compute());
  if (rank.rank == 2) rank.communicator.recv(y.array(), 4, 1, device.compute());
}

Trace record(const std::string& backend, std::uint64_t delay_seed) {
  Recorder recorder({});
  WorldOptions options;
  options.size = kRanks;
  options.listener = &recorder;
  options.random_delay_us = delay_seed == 0 ? 0 : 50;
  options.delay_seed = delay_seed;
  const std::unique_ptr<World> world = open_world(backend, options);
  world->run(step);
  TraceRun run;
  run.devices = kRanks;
  return recorder.take(run);
}

TEST(RecordedWorld, GivesTheSameTraceWhateverTheTiming) {
  const Trace expected = record("sim", 0);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(record("sim", seed), expected);
}

TEST(RecordedWorld, CanBeWrittenReadAndReplayed) {
  for (const char* backend : {"sim", "meta"}) {
    SCOPED_TRACE(backend);
    const Trace trace = record(backend, 0);
    EXPECT_EQ(trace_from_json(trace_to_json(trace), "t.json"), trace);
    const Timeline timeline = replay(trace, Rates(), 0);
    EXPECT_EQ(timeline.entries.size(), trace.ops.size());
    EXPECT_GT(step_times(trace, timeline).communication, 0);
  }
}

TEST(RecordedWorld, MovesWhatWasAskedFor) {
  std::vector<std::string> rows;
  for (const TransferRow& row : transfers(record("sim", 0), 0)) {
    rows.push_back(
        fmt::format("{} {} -> {}: {} bytes", row.primitive, row.from, row.to, row.bytes));
  }
  EXPECT_EQ(rows,
            (std::vector<std::string>{"copy host -> 0: 16 bytes", "copy host -> 1: 16 bytes",
                                      "copy host -> 2: 16 bytes", "all-reduce all -> all: 64 bytes",
                                      "gather all -> 0: 8 bytes", "send 1 -> 2: 16 bytes"}));
}

TEST(RecordedWorld, HasTheResultsOfItsCollectives) {
  int found = 0;
  for (const TraceOp& op : record("sim", 0).ops) {
    if (op.kind != OpKind::kCollective || op.phase != Phase::kAllReduce) continue;
    ASSERT_EQ(op.writes.size(), 1U);
    EXPECT_EQ(op.writes[0].values, (std::vector<double>{6, 6, 9, 12}));
    EXPECT_EQ(op.stream, StreamKind::kCommunication);
    ++found;
  }
  EXPECT_EQ(found, kRanks);
}

TEST(RecordedWorld, IsOnMetaTheSameWithoutValues) {
  Trace sim = record("sim", 0);
  const Trace meta = record("meta", 0);
  for (TraceOp& op : sim.ops) {
    for (TraceTensor& tensor : op.writes) tensor.values.clear();
  }
  EXPECT_EQ(meta, sim);
}

}  // namespace
}  // namespace ringside
