// The records of all ranks, made as ranks are heard of. Finding one takes no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "trace/rank_record.h"

namespace ringside {

/// Threads: any.
class RankRecords {
 public:
  /// The record of `rank`, from 0.
  RankRecord& of(int rank) {
    const auto index = static_cast<std::size_t>(rank);
    const Table* table = table_.load(std::memory_order_acquire);
    if (table != nullptr && index < table->size()) {
      RankRecord* record = (*table)[index].load(std::memory_order_acquire);
      if (record != nullptr) return *record;
    }
    return make(index);
  }

  /// All there are, ascending by rank.
  std::vector<RankRecord*> all();

 private:
  using Table = std::vector<std::atomic<RankRecord*>>;  // by rank; null where there is none

  RankRecord& make(std::size_t index);

  std::atomic<Table*> table_ = nullptr;
  std::mutex mutex_;                            // of what follows, and of changes to the table
  std::vector<std::unique_ptr<Table>> tables_;  // outgrown ones may still be read
  std::vector<std::unique_ptr<RankRecord>> records_;
};

}  // namespace ringside
