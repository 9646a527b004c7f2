#include "trace/op_descriptions.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

namespace ringside {
namespace {

constexpr std::size_t kFirstSlots = 64;

// Arrays that a rank does not have (a gather's result beside the root) are not tensors of the op.
bool is_there(const TensorRef& ref) { return ref.array != nullptr && !ref.array->empty(); }

// Names are short: the call of a function would cost more than comparing them word by word.
bool equal(std::string_view a, std::string_view b) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto differ = [&](std::size_t at) {
    std::uint64_t of_a = 0;
    std::uint64_t of_b = 0;
    std::memcpy(&of_a, a.data() + at, kWord);
    std::memcpy(&of_b, b.data() + at, kWord);
    return of_a != of_b;
  };
  if (a.size() != b.size()) return false;
  if (a.size() < kWord) {
    for (std::size_t at = 0; at < a.size(); ++at) {
      if (a[at] != b[at]) return false;
    }
    return true;
  }
  for (std::size_t at = 0; at + kWord < a.size(); at += kWord) {
    if (differ(at)) return false;
  }
  return !differ(a.size() - kWord);  // overlaps the word before
}

bool equal(const Shape& a, const Shape& b) {
  const std::span<const std::int64_t> sizes = a.sizes();
  const std::span<const std::int64_t> others = b.sizes();
  if (sizes.size() != others.size()) return false;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] != others[dim]) return false;
  }
  return true;
}

bool equal(const std::vector<TraceTensor>& known, std::span<const TensorRef> refs) {
  std::size_t count = 0;
  for (const TensorRef& ref : refs) {
    if (!is_there(ref)) continue;
    if (count == known.size()) return false;
    const TraceTensor& tensor = known[count++];
    if (tensor.dtype != ref.array->dtype || !equal(tensor.shape, ref.array->shape) ||
        !equal(tensor.name, ref.name)) {
      return false;
    }
  }
  return count == known.size();
}

bool equal(const std::optional<TraceCollective>& known, const CollectiveInfo* info) {
  if (!known || info == nullptr) return known.has_value() == (info != nullptr);
  return known->communicator == info->communicator && known->rank == info->rank &&
         known->op == info->op && known->request == info->request &&
         std::ranges::equal(known->world_ranks, info->world_ranks);
}

bool equal(const TraceOp& known, const HeardOp& heard) {
  const OpContext& context = heard.context;
  const OpInfo& info = heard.info;
  return known.kind == info.kind && known.phase == context.phase && known.stream == heard.stream &&
         known.bucket == context.bucket && known.peer == info.peer && known.flops == info.flops &&
         known.bytes == info.bytes && equal(known.name, info.name) &&
         equal(known.label, info.label) && equal(known.host_thread, context.host_thread) &&
         equal(known.reads, info.reads) && equal(known.writes, info.writes) &&
         equal(known.collective, info.collective);
}

std::vector<TraceTensor> described(std::span<const TensorRef> refs) {
  std::vector<TraceTensor> tensors;
  for (const TensorRef& ref : refs) {
    if (!is_there(ref)) continue;
    TraceTensor& tensor = tensors.emplace_back();
    tensor.name = ref.name;
    tensor.dtype = ref.array->dtype;
    tensor.shape = ref.array->shape;
  }
  return tensors;
}

TraceCollective described(const CollectiveInfo& info) {
  TraceCollective collective;
  collective.request = info.request;
  collective.op = info.op;
  collective.communicator = info.communicator;
  collective.rank = info.rank;
  collective.world_ranks.assign(info.world_ranks.begin(), info.world_ranks.end());
  return collective;
}

TraceOp described(const HeardOp& heard, int rank) {
  const OpContext& context = heard.context;
  const OpInfo& info = heard.info;
  TraceOp op;
  op.kind = info.kind;
  op.name = info.name;
  op.label = info.label;
  op.phase = context.phase;
  op.rank = rank;
  op.stream = heard.stream;
  op.host_thread = context.host_thread;
  op.bucket = context.bucket;
  op.peer = info.peer;
  op.flops = info.flops;
  op.bytes = info.bytes;
  op.reads = described(info.reads);
  op.writes = described(info.writes);
  if (info.collective != nullptr) op.collective = described(*info.collective);
  return op;
}

/// Of what tells the ops of a step apart; equal() looks at the rest.
class Hash {
 public:
  explicit Hash(const HeardOp& heard) {
    const OpInfo& info = heard.info;
    add(info.name);
    add(info.label);
    add(static_cast<std::uint64_t>(heard.context.phase));
    add(static_cast<std::uint64_t>(heard.context.bucket));
    add(static_cast<std::uint64_t>(info.peer));
    add(info.bytes);
    for (const std::span<const TensorRef> refs : {info.reads, info.writes}) {
      for (const TensorRef& ref : refs) {
        if (is_there(ref)) add(ref);
      }
    }
    if (info.collective != nullptr) {
      add(static_cast<std::uint64_t>(info.collective->communicator));
      add(info.collective->request.count);
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  void add(std::uint64_t word) {
    value_ =
        (value_ ^ word) * 0x9E3779B97F4A7C15U;  // 2^64 over the golden ratio (Fibonacci hashing)
    value_ ^= value_ >> 32;
  }
  void add(std::string_view text) { add(std::hash<std::string_view>()(text)); }
  void add(const TensorRef& ref) {
    add(ref.name);
    for (const std::int64_t size : ref.array->shape.sizes()) add(static_cast<std::uint64_t>(size));
  }

  std::uint64_t value_ = 0;
};

}  // namespace

std::uint32_t OpDescriptions::number_of(const HeardOp& heard) {
  const std::uint32_t next = present_ == kNone ? kNone : known_[present_].next;
  if (next != kNone && equal(known_[next].op, heard)) return present_ = next;
  const std::uint32_t number = look_up(heard);
  if (present_ != kNone) known_[present_].next = number;
  return present_ = number;
}

std::uint32_t OpDescriptions::look_up(const HeardOp& heard) {
  // As many free slots as taken ones, so that a search ends soon.
  if (2 * known_.size() >= slots_.size()) enlarge();
  const std::uint64_t hash = Hash(heard).value();
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].number != kNone; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && equal(known_[slot.number].op, heard)) return slot.number;
  }
  Known known;
  known.op = described(heard, rank_);
  known.host_thread = thread_named(known.op.host_thread);
  known_.push_back(std::move(known));
  slots_[at] = {hash, static_cast<std::uint32_t>(known_.size() - 1)};
  return slots_[at].number;
}

void OpDescriptions::enlarge() {
  const std::size_t size = std::max(kFirstSlots, 2 * slots_.size());
  for (const Slot& slot : std::exchange(slots_, std::vector<Slot>(size))) {
    if (slot.number == kNone) continue;
    std::size_t at = slot.hash & (size - 1);
    while (slots_[at].number != kNone) at = (at + 1) & (size - 1);
    slots_[at] = slot;
  }
}

std::size_t OpDescriptions::thread_named(const std::string& name) {
  const auto found = std::find(host_threads_.begin(), host_threads_.end(), name);
  if (found != host_threads_.end()) return static_cast<std::size_t>(found - host_threads_.begin());
  host_threads_.push_back(name);
  return host_threads_.size() - 1;
}

}  // namespace ringside
