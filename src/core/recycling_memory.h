// RecyclingMemory: host memory for the small objects that every training step makes again (handles,
// nodes, accounts): a block that comes back is kept for the next request of its size, so that a
// steady step does not go to the heap.
//
// Threads: any; a block may come back on another thread than took it. Blocks that are still taken
// when the owner lets go keep the memory alive.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <memory_resource>

#include "core/brief_mutex.h"

namespace ringside {

class RecyclingMemory final : public std::pmr::memory_resource {
 public:
  struct LetGo {
    void operator()(RecyclingMemory* memory) const;
  };
  using Owner = std::unique_ptr<RecyclingMemory, LetGo>;
  static Owner make();

  /// Larger blocks, or more strictly aligned ones, come from the heap each time.
  static constexpr std::size_t kLargestBlock = 8192;

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kSmallestBlock = 64;
  static constexpr std::size_t kSizes = 8;  // 64, 128, ..., 8192

  /// Of the list in which blocks of this many bytes are kept.
  static std::size_t place_of(std::size_t bytes);

  RecyclingMemory() = default;
  ~RecyclingMemory() override;

  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  BriefMutex mutex_;
  std::array<Free*, kSizes> free_{};
  std::size_t taken_ = 0;
  bool owned_ = true;
};

}  // namespace ringside
