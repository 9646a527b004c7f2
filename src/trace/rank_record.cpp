#include "trace/rank_record.h"

#include <utility>

namespace ringside {
namespace {

constexpr int kNumberBits = 40;

}  // namespace

OpNumber op_number(OpId id) {
  return {static_cast<int>(id >> kNumberBits), id & ((OpId{1} << kNumberBits) - 1)};
}

bool RankRecord::is_setup(int step) {
  if (steps_have_begun_.load(std::memory_order_relaxed)) return false;
  if (step >= 0) steps_have_begun_ = true;
  return step < 0;
}

OpId RankRecord::add(const HeardOp& heard) {
  const std::lock_guard lock(mutex_);
  const OpId id =
      (static_cast<OpId>(rank_) << kNumberBits) | (first_number_ + static_cast<OpId>(ops_.size()));
  OpRecord record{};
  record.description = descriptions_.number_of(heard);
  record.step = heard.context.step;
  record.dependencies = dependencies_of(heard, id, descriptions_.host_thread(record.description));
  if (heard.info.collective != nullptr) record.sequence = heard.info.collective->sequence;
  ops_.push_back(record);
  return id;
}

std::array<OpId, 3> RankRecord::dependencies_of(const HeardOp& heard, OpId id,
                                                std::size_t host_thread) {
  if (last_of_host_.size() <= host_thread) last_of_host_.resize(host_thread + 1, kNoOp);
  OpId& last_host = last_of_host_[host_thread];
  if (!heard.stream) return {std::exchange(last_host, id), heard.info.awaited, kNoOp};
  const Last last = std::exchange(last_of_stream_[static_cast<std::size_t>(*heard.stream)],
                                  Last{id, host_thread});
  const bool implied = last.host_thread == host_thread && last.id > last_host;
  return {last.id, implied ? kNoOp : last_host, heard.info.awaited};
}

std::size_t RankRecord::index_of(OpId id) const {
  return static_cast<std::size_t>(op_number(id).number - first_number_);
}

void RankRecord::set_stamps(OpId id, std::shared_ptr<Stamps> stamps) {
  const std::lock_guard lock(mutex_);
  stamps_.resize(ops_.size());
  stamps_.at(index_of(id)) = std::move(stamps);
}

std::shared_ptr<Stamps> RankRecord::stamps_of(OpId id) {
  const std::lock_guard lock(mutex_);
  return stamps_.at(index_of(id));
}

void RankRecord::set_snapshots(OpId id, std::vector<std::shared_ptr<Snapshot>> snapshots) {
  const std::lock_guard lock(mutex_);
  snapshots_.resize(ops_.size());
  snapshots_.at(index_of(id)) = std::move(snapshots);
}

void RankRecord::add_memory(const TraceMemory& memory) {
  const std::lock_guard lock(mutex_);
  memory_.push_back(memory);
}

TakenRank RankRecord::take() {
  const std::lock_guard lock(mutex_);
  TakenRank taken;
  taken.first_number = first_number_;
  taken.ops.reserve(ops_.size());
  for (std::size_t index = 0; index < ops_.size(); ++index) {
    taken.ops.push_back(described(index));
    taken.unfinished.push_back(is_unfinished(index, taken.ops.back()));
  }
  taken.memory = std::exchange(memory_, {});
  first_number_ += static_cast<std::int64_t>(ops_.size());
  ops_.clear();
  stamps_ = {};
  snapshots_ = {};
  return taken;
}

// An empty tensor is not looked at.
bool RankRecord::is_unfinished(std::size_t index, const TraceOp& op) const {
  if (index >= snapshots_.size()) return false;
  for (std::size_t i = 0; i < snapshots_[index].size(); ++i) {
    if (!snapshots_[index][i]->taken() && op.writes[i].shape.numel() > 0) return true;
  }
  return false;
}

TraceOp RankRecord::described(std::size_t index) const {
  const OpRecord& record = ops_[index];
  TraceOp op = descriptions_.op(record.description);
  op.step = record.step;
  for (const OpId dependency : record.dependencies) {
    if (dependency != kNoOp) op.dependencies.push_back(dependency);
  }
  if (op.collective) op.collective->sequence = record.sequence;
  if (index < snapshots_.size()) {
    for (std::size_t i = 0; i < snapshots_[index].size(); ++i) {
      snapshots_[index][i]->store(op.writes[i]);
    }
  }
  if (index < stamps_.size() && stamps_[index] && stamps_[index]->start && stamps_[index]->end) {
    op.measured_start = stamps_[index]->start;
    op.measured_end = stamps_[index]->end;
  }
  return op;
}

}  // namespace ringside
