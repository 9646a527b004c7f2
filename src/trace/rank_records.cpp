#include "trace/rank_records.h"

#include <bit>

namespace ringside {

RankRecord& RankRecords::make(std::size_t index) {
  const std::lock_guard lock(mutex_);
  Table* table = table_.load(std::memory_order_relaxed);
  const std::size_t size = table == nullptr ? 0 : table->size();
  if (index >= size) {
    tables_.push_back(std::make_unique<Table>(std::bit_ceil(index + 1)));
    Table& larger = *tables_.back();
    for (std::size_t i = 0; i < size; ++i) {
      larger[i].store((*table)[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    table = &larger;
    table_.store(table, std::memory_order_release);
  }
  std::atomic<RankRecord*>& place = (*table)[index];
  if (RankRecord* record = place.load(std::memory_order_relaxed)) return *record;
  records_.push_back(std::make_unique<RankRecord>(static_cast<int>(index)));
  place.store(records_.back().get(), std::memory_order_release);
  return *records_.back();
}

std::vector<RankRecord*> RankRecords::all() {
  const std::lock_guard lock(mutex_);
  std::vector<RankRecord*> result;
  const Table* table = table_.load(std::memory_order_relaxed);
  if (table == nullptr) return result;
  for (const std::atomic<RankRecord*>& place : *table) {
    if (RankRecord* record = place.load(std::memory_order_relaxed)) result.push_back(record);
  }
  return result;
}

}  // namespace ringside
