// The recorder: writes down every op that passes the door of the streams in the recorded steps, and
// has its results read by launches of its own directly behind it.
#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "ringside/trace.h"
#include "trace/order.h"
#include "trace/rank_record.h"

namespace ringside {
namespace {

using Clock = std::chrono::steady_clock;

// Arrays that a rank does not have (a gather's result beside the root) are not tensors of the op.
std::vector<TraceTensor> describe(std::span<const TensorRef> refs) {
  std::vector<TraceTensor> tensors;
  tensors.reserve(refs.size());
  for (const TensorRef& ref : refs) {
    if (ref.array == nullptr || ref.array->empty()) continue;
    TraceTensor& tensor = tensors.emplace_back();
    tensor.name = ref.name;
    tensor.dtype = ref.array->dtype;
    tensor.shape = ref.array->shape;
  }
  return tensors;
}

TraceCollective describe(const CollectiveInfo& info) {
  TraceCollective collective;
  collective.request = info.request;
  collective.op = info.op;
  collective.communicator = info.communicator;
  collective.sequence = info.sequence;
  collective.rank = info.rank;
  collective.world_ranks.assign(info.world_ranks.begin(), info.world_ranks.end());
  return collective;
}

RecordedOp describe(const Device& device, const OpInfo& info) {
  const OpContext& context = device.context();
  RecordedOp recorded;
  TraceOp& op = recorded.op;
  op.kind = info.kind;
  op.name = info.name;
  op.label = info.label;
  op.step = context.step;
  op.phase = context.phase;
  op.rank = device.rank();
  op.host_thread = context.host_thread;
  op.bucket = context.bucket;
  op.peer = info.peer;
  op.flops = info.flops;
  op.bytes = info.bytes;
  op.reads = describe(info.reads);
  op.writes = describe(info.writes);
  if (info.collective != nullptr) op.collective = describe(*info.collective);
  return recorded;
}

}  // namespace

struct Recorder::Impl {
  explicit Impl(const TraceOptions& trace_options) : options(trace_options), origin(Clock::now()) {}

  RankRecord& record_of(int rank) {
    {
      const std::shared_lock lock(mutex);
      const auto found = records.find(rank);
      if (found != records.end()) return *found->second;
    }
    const std::unique_lock lock(mutex);
    std::unique_ptr<RankRecord>& record = records[rank];
    if (!record) record = std::make_unique<RankRecord>(rank);
    return *record;
  }

  /// The record that an op of `device` goes into; null if it is not to be recorded.
  RankRecord* record_for(const Device& device) {
    const int step = device.context().step;
    if (step > options.last_step) return nullptr;  // most of a run ends here
    RankRecord& record = record_of(device.rank());
    const bool setup = record.is_setup(step);
    if (step < 0) return options.setup && setup ? &record : nullptr;
    return step >= options.first_step ? &record : nullptr;
  }

  /// A launch that notes the host's time; a native stream runs launches before their time.
  Launch stamp(std::shared_ptr<Stamps> stamps, std::optional<double> Stamps::*which) const {
    return [stamps = std::move(stamps), which, begin = origin](LaunchContext& context) {
      if (context.native_stream != nullptr) return;
      (*stamps).*which = std::chrono::duration<double>(Clock::now() - begin).count();
    };
  }

  const TraceOptions options;
  const Clock::time_point origin;
  std::shared_mutex mutex;  // of the map; records have their own
  std::map<int, std::unique_ptr<RankRecord>> records;
};

Recorder::Recorder(const TraceOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Recorder::~Recorder() = default;

OpId Recorder::on_submit(Stream& stream, const OpInfo& info) {
  Device& device = stream.device();
  RankRecord* record = impl_->record_for(device);
  if (record == nullptr) return kNoOp;
  RecordedOp recorded = describe(device, info);
  recorded.op.stream = stream.kind();
  if (impl_->options.times && device.executes()) {
    recorded.stamps = std::make_shared<Stamps>();
    stream.enqueue(impl_->stamp(recorded.stamps, &Stamps::start));
  }
  return record->add(std::move(recorded), info.awaited);
}

void Recorder::on_enqueued(Stream& stream, OpId id, const OpInfo& info) {
  Device& device = stream.device();
  if (!device.executes()) return;
  const TraceOptions& options = impl_->options;
  if (!options.times && !options.values) return;
  RankRecord& record = impl_->record_of(device.rank());
  if (options.times) stream.enqueue(impl_->stamp(record.stamps_of(id), &Stamps::end));
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
  return record->add(describe(device, info), info.awaited);
}

void Recorder::note_memory(const Device& device) {
  RankRecord* record = impl_->record_for(device);
  if (record == nullptr) return;
  const OpContext& context = device.context();
  record->add_memory({context.step, context.phase, device.rank(), device.memory()});
}

Trace Recorder::take(TraceRun run) {
  const std::unique_lock lock(impl_->mutex);
  Trace trace;
  trace.run = std::move(run);
  std::unordered_map<OpId, OpId> index_of;  // provisional id -> index
  for (const auto& [rank, record] : impl_->records) {
    for (RecordedOp& recorded : record->take_ops()) {
      for (std::size_t i = 0; i < recorded.snapshots.size(); ++i) {
        recorded.snapshots[i]->store(recorded.op.writes[i]);
      }
      if (recorded.stamps && recorded.stamps->start && recorded.stamps->end) {
        recorded.op.measured_start = recorded.stamps->start;
        recorded.op.measured_end = recorded.stamps->end;
      }
      const auto index = static_cast<OpId>(trace.ops.size());
      index_of.emplace(std::exchange(recorded.op.id, index), index);
      trace.ops.push_back(std::move(recorded.op));
    }
    const std::vector<TraceMemory> memory = record->take_memory();
    trace.memory.insert(trace.memory.end(), memory.begin(), memory.end());
  }
  for (TraceOp& op : trace.ops) {
    std::vector<OpId> dependencies;  // on ops of this trace; older ones have ended
    for (const OpId dependency : op.dependencies) {
      const auto found = index_of.find(dependency);
      if (found != index_of.end()) dependencies.push_back(found->second);
    }
    op.dependencies = std::move(dependencies);
  }
  trace.ops = in_trace_order(std::move(trace.ops));
  std::stable_sort(trace.memory.begin(), trace.memory.end(),
                   [](const TraceMemory& a, const TraceMemory& b) { return a.step < b.step; });
  return trace;
}

}  // namespace ringside
