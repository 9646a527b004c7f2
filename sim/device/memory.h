// Host memory that plays device memory: aligned blocks, kept for the next allocation of the same
// size, so that a training step that repeats does not go to the operating system.
//
// Threads: any. Blocks come back on whichever thread drops the last holder.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace ringside::sim {

class BlockCache {
 public:
  static constexpr std::size_t kAlignment = 64;

  BlockCache() = default;
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  /// `bytes` rounded up to whole units of kAlignment, at least one.
  static std::size_t block_size(std::size_t bytes);
  /// A block of block_size(bytes) bytes, uninitialised. Throws std::bad_alloc.
  void* take(std::size_t bytes);
  /// `block` was taken with the same `bytes`.
  void give_back(void* block, std::size_t bytes);

  /// Bytes in kept blocks; never more than were ever taken at one time.
  std::size_t kept() const;

 private:
  void release_kept();

  mutable std::mutex mutex_;
  std::unordered_map<std::size_t, std::vector<void*>> kept_by_size_;
  std::size_t kept_ = 0;
  std::size_t taken_ = 0;
  std::size_t most_taken_ = 0;
};

}  // namespace ringside::sim
