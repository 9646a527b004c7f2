// SpscQueue: an unbounded queue between one producer and one consumer at a time, without locks.
//
// Elements lie in chunks; chunks that have been emptied are handed back to the producer, so that a
// queue whose producer is never far ahead allocates nothing. Threads: push by one thread at a
// time, everything else but pushed() by one (other) thread at a time; who the two are may change if
// the caller orders it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace ringside::sim {

/// What two cores write must not share a cache line.
inline constexpr std::size_t kCacheLine = 64;

template <typename T>
class SpscQueue {
 public:
  SpscQueue() : first_(new Chunk), last_(first_) {}
  ~SpscQueue() {
    while (!empty()) pop();
    delete first_;
    for (const auto& spare : spares_) delete spare.load(std::memory_order_relaxed);
  }
  SpscQueue(const SpscQueue&) = delete;
  SpscQueue& operator=(const SpscQueue&) = delete;

  /// Makes the element of `parts`. Sequentially consistent: what the producer reads afterwards is
  /// newer than the element.
  template <typename... Parts>
  void push(Parts&&... parts) {
    if (written_ == kChunkSize) {
      last_ = last_->next = fresh_chunk();
      written_ = 0;
    }
    ::new (last_->slot(written_++)) T{std::forward<Parts>(parts)...};
    pushed_.fetch_add(1, std::memory_order_seq_cst);
  }

  /// How many elements were ever pushed.
  std::uint64_t pushed() const { return pushed_.load(std::memory_order_seq_cst); }
  std::uint64_t popped() const { return popped_; }
  bool empty() const { return popped_ == pushed(); }
  /// The first element; there must be one.
  T& front() {
    if (read_ == kChunkSize) {
      Chunk* emptied = first_;
      first_ = first_->next;
      read_ = 0;
      hand_back(emptied);
    }
    return *first_->slot(read_);
  }
  const T& front() const {
    return read_ == kChunkSize ? *first_->next->slot(0) : *first_->slot(read_);
  }
  void pop() {
    std::destroy_at(&front());
    ++read_;
    ++popped_;
  }

 private:
  static constexpr std::size_t kChunkSize = 16;
  static constexpr std::size_t kSpares = 8;
  struct Chunk {
    Chunk* next = nullptr;
    alignas(T) std::byte bytes[kChunkSize * sizeof(T)];
    T* slot(std::size_t index) {
      return std::launder(reinterpret_cast<T*>(bytes + index * sizeof(T)));
    }
    const T* slot(std::size_t index) const {
      return std::launder(reinterpret_cast<const T*>(bytes + index * sizeof(T)));
    }
  };

  Chunk* fresh_chunk() {
    for (auto& spare : spares_) {
      if (spare.load(std::memory_order_relaxed) == nullptr) continue;
      Chunk* chunk = spare.exchange(nullptr, std::memory_order_acquire);
      chunk->next = nullptr;
      return chunk;
    }
    return new Chunk;
  }
  void hand_back(Chunk* emptied) {
    for (auto& spare : spares_) {
      if (spare.load(std::memory_order_relaxed) != nullptr) continue;
      spare.store(emptied, std::memory_order_release);
      return;
    }
    delete emptied;
  }

  // The consumer's.
  alignas(kCacheLine) Chunk* first_;
  std::size_t read_ = 0;
  std::uint64_t popped_ = 0;
  // The producer's.
  alignas(kCacheLine) Chunk* last_;
  std::size_t written_ = 0;
  // Both's.
  alignas(kCacheLine) std::atomic<std::uint64_t> pushed_{0};
  std::array<std::atomic<Chunk*>, kSpares> spares_{};  // only the consumer fills a place
};

}  // namespace ringside::sim
