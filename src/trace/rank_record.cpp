#include "trace/rank_record.h"

#include <algorithm>
#include <utility>

namespace ringside {
namespace {

constexpr int kNumberBits = 40;

}  // namespace

bool RankRecord::is_setup(int step) {
  if (steps_have_begun_.load(std::memory_order_relaxed)) return false;
  if (step >= 0) steps_have_begun_ = true;
  return step < 0;
}

OpId RankRecord::add(RecordedOp recorded, OpId awaited) {
  const std::lock_guard lock(mutex_);
  TraceOp& op = recorded.op;
  op.id =
      (static_cast<OpId>(rank_) << kNumberBits) | (first_number_ + static_cast<OpId>(ops_.size()));
  op.dependencies.reserve(3);
  const auto depend_on = [&](OpId id) {
    if (id != kNoOp) op.dependencies.push_back(id);
  };
  const auto host = last_of_host_.find(op.host_thread);
  const OpId last_host = host == last_of_host_.end() ? kNoOp : host->second;
  if (op.stream) {
    Last& last = last_of_stream_[static_cast<std::size_t>(*op.stream)];
    depend_on(last.id);
    const bool implied = last.host_thread == op.host_thread && last.id > last_host;
    if (!implied) depend_on(last_host);
    last = {op.id, op.host_thread};
  } else {
    depend_on(last_host);
    last_of_host_[op.host_thread] = op.id;
  }
  depend_on(awaited);
  ops_.push_back(std::move(recorded));
  return ops_.back().op.id;
}

RecordedOp& RankRecord::at(OpId id) {
  const OpId number = id & ((OpId{1} << kNumberBits) - 1);
  return ops_.at(static_cast<std::size_t>(number - first_number_));
}

void RankRecord::set_snapshots(OpId id, std::vector<std::shared_ptr<Snapshot>> snapshots) {
  const std::lock_guard lock(mutex_);
  at(id).snapshots = std::move(snapshots);
}

std::shared_ptr<Stamps> RankRecord::stamps_of(OpId id) {
  const std::lock_guard lock(mutex_);
  return at(id).stamps;
}

void RankRecord::add_memory(const TraceMemory& memory) {
  const std::lock_guard lock(mutex_);
  memory_.push_back(memory);
}

std::deque<RecordedOp> RankRecord::take_ops() {
  const std::lock_guard lock(mutex_);
  first_number_ += static_cast<std::int64_t>(ops_.size());
  return std::exchange(ops_, {});
}

std::vector<TraceMemory> RankRecord::take_memory() {
  const std::lock_guard lock(mutex_);
  return std::exchange(memory_, {});
}

}  // namespace ringside
