// RecycledMemory: memory for objects that come and go all the time (events, calls). What is given
// back is kept for the next of the same size, so that a step that repeats allocates nothing.
//
// Threads: any. The memory lives as long as an object in it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "core/brief_mutex.h"

namespace ringside {

/// Keeps blocks of one size: that of the first that was asked for.
class RecycledMemory {
 public:
  RecycledMemory() = default;
  ~RecycledMemory() {
    while (spare_ != nullptr) ::operator delete(std::exchange(spare_, spare_->next));
  }
  RecycledMemory(const RecycledMemory&) = delete;
  RecycledMemory& operator=(const RecycledMemory&) = delete;

  /// Aligned as operator new does. Throws std::bad_alloc.
  void* take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      if (bytes_ == 0) bytes_ = bytes;
      if (bytes == bytes_ && spare_ != nullptr) return std::exchange(spare_, spare_->next);
    }
    return ::operator new(bytes < sizeof(Spare) ? sizeof(Spare) : bytes);
  }
  /// `block` was taken with the same `bytes`.
  void give_back(void* block, std::size_t bytes) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (bytes == bytes_) {
        spare_ = new (block) Spare{spare_};
        return;
      }
    }
    ::operator delete(block);
  }

 private:
  struct Spare {
    Spare* next;
  };
  BriefMutex mutex_;
  std::size_t bytes_ = 0;
  Spare* spare_ = nullptr;
};

/// A standard allocator over it.
template <typename T>
class RecyclingAllocator {
 public:
  using value_type = T;
  explicit RecyclingAllocator(std::shared_ptr<RecycledMemory> memory)
      : memory_(std::move(memory)) {}
  template <typename Other>
  explicit RecyclingAllocator(const RecyclingAllocator<Other>& other) : memory_(other.memory()) {}

  T* allocate(std::size_t count) { return static_cast<T*>(memory_->take(count * sizeof(T))); }
  void deallocate(T* objects, std::size_t count) noexcept {
    memory_->give_back(objects, count * sizeof(T));
  }
  const std::shared_ptr<RecycledMemory>& memory() const { return memory_; }
  bool operator==(const RecyclingAllocator& other) const { return memory_ == other.memory_; }

 private:
  std::shared_ptr<RecycledMemory> memory_;
};

/// std::make_shared in recycled memory. Use one memory for one type.
template <typename T, typename... Arguments>
std::shared_ptr<T> make_recycled(const std::shared_ptr<RecycledMemory>& memory,
                                 Arguments&&... arguments) {
  return std::allocate_shared<T>(RecyclingAllocator<T>(memory),
                                 std::forward<Arguments>(arguments)...);
}

}  // namespace ringside
