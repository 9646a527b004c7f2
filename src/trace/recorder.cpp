// The recorder: writes down every op that passes the door of the streams in the recorded steps, and
// has its results read by launches of its own directly behind it.
#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "ringside/trace.h"
#include "trace/happened.h"
#include "trace/order.h"
#include "trace/rank_records.h"

namespace ringside {
namespace {

using Clock = std::chrono::steady_clock;

/// A launch that notes the host's time; a native stream runs launches before their time.
Launch stamp(std::shared_ptr<Stamps> stamps, std::optional<double> Stamps::*which,
             Clock::time_point origin) {
  return [stamps = std::move(stamps), which, origin](LaunchContext& context) {
    if (context.native_stream != nullptr) return;
    (*stamps).*which = std::chrono::duration<double>(Clock::now() - origin).count();
  };
}

/// Where the ops of a rank lie in the trace.
struct Place {
  std::int64_t first_number = 0;  // of submission
  std::int64_t count = 0;
  OpId first_index = 0;
};

/// Provisional ids become indices; what is not of this trace is older, and has ended.
void renumber(std::vector<OpId>& dependencies, const std::map<int, Place>& place_of) {
  std::erase_if(dependencies, [&](OpId& dependency) {
    const OpNumber wanted = op_number(dependency);
    const auto found = place_of.find(wanted.rank);
    if (found == place_of.end()) return true;
    const Place& place = found->second;
    const std::int64_t offset = wanted.number - place.first_number;
    dependency = place.first_index + offset;
    return offset < 0 || offset >= place.count;
  });
}

}  // namespace

struct Recorder::Impl {
  explicit Impl(const TraceOptions& trace_options) : options(trace_options), origin(Clock::now()) {}

  /// The record that an op of `device` goes into; null if it is not to be recorded.
  RankRecord* record_for(const Device& device) {
    const int step = device.context().step;
    if (step > options.last_step) return nullptr;  // most of a run ends here
    RankRecord& record = records.of(device.rank());
    const bool setup = record.is_setup(step);
    if (step < 0) return options.setup && setup ? &record : nullptr;
    return step >= options.first_step ? &record : nullptr;
  }

  const TraceOptions options;
  const Clock::time_point origin;
  RankRecords records;
};

Recorder::Recorder(const TraceOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Recorder::~Recorder() = default;

OpId Recorder::on_submit(Stream& stream, const OpInfo& info) {
  Device& device = stream.device();
  RankRecord* record = impl_->record_for(device);
  if (record == nullptr) return kNoOp;
  const OpId id = record->add({device.context(), info, stream.kind()});
  if (impl_->options.times && device.executes()) {
    const auto stamps = std::make_shared<Stamps>();
    record->set_stamps(id, stamps);
    stream.enqueue(stamp(stamps, &Stamps::start, impl_->origin));
  }
  return id;
}

void Recorder::on_enqueued(Stream& stream, OpId id, const OpInfo& info) {
  const TraceOptions& options = impl_->options;
  if (!options.times && !options.values) return;
  Device& device = stream.device();
  if (!device.executes()) return;
  RankRecord& record = impl_->records.of(device.rank());
  if (options.times) stream.enqueue(stamp(record.stamps_of(id), &Stamps::end, impl_->origin));
  if (!options.values) return;
  std::vector<std::shared_ptr<Snapshot>> snapshots;
  for (const TensorRef& ref : info.writes) {
    if (ref.array == nullptr || ref.array->empty()) continue;
    const DeviceArray& array = *ref.array;
    const bool whole = array.shape.numel() <= options.whole_values;
    snapshots.push_back(std::make_shared<Snapshot>(array.dtype, whole));
    if (array.count() == 0) continue;
    stream.enqueue([snapshot = snapshots.back(), array](LaunchContext& context) {
      snapshot->take(context, array);
    });
  }
  record.set_snapshots(id, std::move(snapshots));
}

OpId Recorder::on_host(Device& device, const OpInfo& info) {
  RankRecord* record = impl_->record_for(device);
  if (record == nullptr) return kNoOp;
  return record->add({device.context(), info, {}});
}

void Recorder::note_memory(const Device& device) {
  RankRecord* record = impl_->record_for(device);
  if (record == nullptr) return;
  const OpContext& context = device.context();
  record->add_memory({context.step, context.phase, device.rank(), device.memory()});
}

Trace Recorder::take(TraceRun run) {
  Trace trace;
  trace.run = std::move(run);
  std::map<int, Place> place_of;  // by rank
  std::vector<bool> unfinished;   // by op
  for (RankRecord* record : impl_->records.all()) {
    TakenRank taken = record->take();
    place_of[record->rank()] = {taken.first_number, static_cast<std::int64_t>(taken.ops.size()),
                                static_cast<OpId>(trace.ops.size())};
    for (TraceOp& op : taken.ops) {
      op.id = static_cast<OpId>(trace.ops.size());
      trace.ops.push_back(std::move(op));
    }
    unfinished.insert(unfinished.end(), taken.unfinished.begin(), taken.unfinished.end());
    trace.memory.insert(trace.memory.end(), taken.memory.begin(), taken.memory.end());
  }
  for (TraceOp& op : trace.ops) renumber(op.dependencies, place_of);
  if (!trace.run.failure.empty()) {
    const std::vector<bool> kept = carried_out(trace.ops, unfinished);
    trace.ops = without_others(std::move(trace.ops), kept);
  }
  trace.ops = in_trace_order(std::move(trace.ops));
  std::stable_sort(trace.memory.begin(), trace.memory.end(),
                   [](const TraceMemory& a, const TraceMemory& b) { return a.step < b.step; });
  return trace;
}

}  // namespace ringside
