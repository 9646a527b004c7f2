#include "sim/device/memory.h"

#include <algorithm>
#include <limits>
#include <new>

namespace ringside::sim {

BlockCache::~BlockCache() { release_kept(); }

std::size_t BlockCache::block_size(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() - kAlignment) throw std::bad_alloc();
  const std::size_t units = bytes / kAlignment + (bytes % kAlignment != 0 ? 1 : 0);
  return std::max<std::size_t>(units, 1) * kAlignment;
}

void* BlockCache::take(std::size_t bytes) {
  const std::size_t size = block_size(bytes);
  const std::lock_guard lock(mutex_);
  void* block = nullptr;
  if (const auto kept = kept_by_size_.find(size);
      kept != kept_by_size_.end() && !kept->second.empty()) {
    block = kept->second.back();
    kept->second.pop_back();
    kept_ -= size;
  } else {
    block = ::operator new (size, std::align_val_t{kAlignment});
  }
  taken_ += size;
  most_taken_ = std::max(most_taken_, taken_);
  return block;
}

void BlockCache::give_back(void* block, std::size_t bytes) {
  const std::size_t size = block_size(bytes);
  const std::lock_guard lock(mutex_);
  taken_ -= size;
  // What is kept are then sizes that the program has stopped to ask for.
  if (kept_ + size > most_taken_) release_kept();
  kept_by_size_[size].push_back(block);
  kept_ += size;
}

std::size_t BlockCache::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

void BlockCache::release_kept() {
  for (auto& [size, blocks] : kept_by_size_) {
    for (void* block : blocks) ::operator delete (block, std::align_val_t{kAlignment});
  }
  kept_by_size_.clear();
  kept_ = 0;
}

}  // namespace ringside::sim
