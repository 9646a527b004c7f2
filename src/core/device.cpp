// The part of device.h that is the same on every backend: the door of the streams, and the names
// of its enumerations.
#include "ringside/device.h"

#include <utility>

#include "core/names.h"
#include "core/recycling_memory.h"

namespace ringside {
namespace {

constexpr NameTable<MemoryKind, kMemoryKinds> kMemoryKindNames{{
    {MemoryKind::kParameters, "parameters"},
    {MemoryKind::kGradients, "gradients"},
    {MemoryKind::kOptimizerState, "optimizer-state"},
    {MemoryKind::kActivations, "activations"},
    {MemoryKind::kReplicas, "replicas"},
    {MemoryKind::kBuckets, "buckets"},
    {MemoryKind::kInputs, "inputs"},
    {MemoryKind::kOutputs, "outputs"},
    {MemoryKind::kWorkspace, "workspace"},
}};

constexpr NameTable<Phase, 18> kPhaseNames{{
    {Phase::kSetup, "setup"},
    {Phase::kLoad, "load"},
    {Phase::kScatterInput, "scatter-input"},
    {Phase::kReplicate, "replicate"},
    {Phase::kForward, "forward"},
    {Phase::kGatherOutput, "gather-output"},
    {Phase::kLoss, "loss"},
    {Phase::kScatterGrad, "scatter-grad"},
    {Phase::kBackward, "backward"},
    {Phase::kReduceGrad, "reduce-grad"},
    {Phase::kSyncBuffers, "sync-buffers"},
    {Phase::kAllReduce, "all-reduce"},
    {Phase::kFinalize, "finalize"},
    {Phase::kPull, "pull"},
    {Phase::kPush, "push"},
    {Phase::kAggregate, "aggregate"},
    {Phase::kUpdate, "update"},
    {Phase::kEvaluate, "evaluate"},
}};

constexpr NameTable<OpKind, 7> kOpKindNames{{
    {OpKind::kCompute, "compute"},
    {OpKind::kCopy, "copy"},
    {OpKind::kCollective, "collective"},
    {OpKind::kSend, "send"},
    {OpKind::kRecv, "recv"},
    {OpKind::kHost, "host"},
    {OpKind::kWait, "wait"},
}};

constexpr NameTable<StreamKind, 3> kStreamKindNames{{
    {StreamKind::kCompute, "compute"},
    {StreamKind::kCopy, "copy"},
    {StreamKind::kCommunication, "communication"},
}};

}  // namespace

std::string_view to_string(MemoryKind kind) { return name_of(kMemoryKindNames, kind); }
std::string_view to_string(Phase phase) { return name_of(kPhaseNames, phase); }
Phase parse_phase(std::string_view name) { return parse_name(kPhaseNames, "phase", name); }
std::string_view to_string(OpKind kind) { return name_of(kOpKindNames, kind); }
std::string_view to_string(StreamKind kind) { return name_of(kStreamKindNames, kind); }

Device::Device() : host_memory_(RecyclingMemory::make().release()) {}
Device::~Device() = default;

void Device::LetGo::operator()(std::pmr::memory_resource* memory) const {
  RecyclingMemory::LetGo()(static_cast<RecyclingMemory*>(memory));
}

OpId Stream::submit(const OpInfo& info, Launch&& launch) {
  const OpId id = announce(info);
  enqueue_op(info, std::move(launch));
  announced(id, info);
  return id;
}

OpId Stream::announce(const OpInfo& info) {
  OpListener* listener = device().listener();
  if (listener == nullptr) return kNoOp;
  const OpId id = listener->on_submit(*this, info);
  if (id != kNoOp) last_op_ = id;
  return id;
}

void Stream::announced(OpId id, const OpInfo& info) {
  if (id == kNoOp) return;
  if (OpListener* listener = device().listener()) listener->on_enqueued(*this, id, info);
}

void Stream::enqueue_op(const OpInfo& /*info*/, Launch&& launch) { enqueue(std::move(launch)); }

void Stream::wait(const std::shared_ptr<Event>& event) {
  if (event->stream() == this) return;  // already in order
  OpInfo info;
  info.kind = OpKind::kWait;
  info.name = "wait-event";
  info.awaited = event->op();
  const OpId id = announce(info);
  enqueue_wait(event);
  announced(id, info);
}

}  // namespace ringside
