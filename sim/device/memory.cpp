#include "sim/device/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

namespace ringside::sim {

namespace {

// Large blocks ask for huge pages: walking through them misses the address cache less.
constexpr std::size_t kHugePage = 2 * 1024 * 1024;
constexpr std::size_t kLargeBlock = 2 * kHugePage;

void* allocate(std::size_t size) {
  const bool large = size >= kLargeBlock;
  const std::size_t alignment = large ? kHugePage : BlockCache::kAlignment;
  if (size > std::numeric_limits<std::size_t>::max() - alignment) return nullptr;
  void* block = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  // Only the whole huge pages in it; and only advice: a system without them goes on without.
  if (block != nullptr && large) ::madvise(block, size / kHugePage * kHugePage, MADV_HUGEPAGE);
  return block;
}

}  // namespace

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
    // Not operator new: what a full machine means for a device's memory is for the device to say.
    block = allocate(size);
    if (block == nullptr) throw std::bad_alloc();
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
  try {
    kept_by_size_[size].push_back(block);
    kept_ += size;
  } catch (const std::bad_alloc&) {
    std::free(block);  // called by destructors: not keeping it is all that may happen
  }
}

std::size_t BlockCache::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

void BlockCache::release_kept() {
  for (auto& [size, blocks] : kept_by_size_) {
    for (void* block : blocks) std::free(block);
  }
  kept_by_size_.clear();
  kept_ = 0;
}

}  // namespace ringside::sim
