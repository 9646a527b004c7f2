// ReadyQueue: what can run, first in, first out, for any number of threads, without locks as long
// as it is short.
//
// A ring of cells that are numbered by turns (Vyukov's bounded queue: a thread claims a cell by
// moving the head or the tail on, and the cell's number says whether it holds something); what does
// not fit waits in a list under a lock.
// [D. Vyukov, "Bounded MPMC queue", 1024cores.net]
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "sim/device/spsc_queue.h"

namespace ringside::sim {

template <typename T>
class ReadyQueue {
 public:
  ReadyQueue() : cells_(std::make_unique<Cell[]>(kCells)) {
    for (std::size_t i = 0; i < kCells; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }

  /// Sequentially consistent: what the caller reads afterwards is newer than the item.
  void push(T item) {
    if (overflowing_.load(std::memory_order_relaxed) != 0 || !push_cell(item)) {
      const std::lock_guard lock(overflow_mutex_);
      overflow_.push_back(item);
      overflowing_.fetch_add(1, std::memory_order_seq_cst);
    }
  }

  std::optional<T> pop() {
    if (auto item = pop_cell()) return item;
    if (overflowing_.load(std::memory_order_seq_cst) == 0) return std::nullopt;
    const std::lock_guard lock(overflow_mutex_);
    if (overflow_.empty()) return std::nullopt;
    const T item = overflow_.front();
    overflow_.pop_front();
    overflowing_.fetch_sub(1, std::memory_order_relaxed);
    return item;
  }

  /// Exact if nobody pushes or pops meanwhile; an item whose push has returned is always seen.
  bool empty() const {
    return head_.load(std::memory_order_seq_cst) == tail_.load(std::memory_order_seq_cst) &&
           overflowing_.load(std::memory_order_seq_cst) == 0;
  }

  /// How many items have been taken out, but for those that did not fit.
  std::size_t taken() const { return head_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kCells = 1024;
  struct Cell {
    std::atomic<std::size_t> turn;
    T item;
  };

  bool push_cell(T item) {
    std::size_t place = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[place % kCells];
      const std::size_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == place) {
        if (!tail_.compare_exchange_weak(place, place + 1, std::memory_order_seq_cst)) continue;
        cell.item = item;
        cell.turn.store(place + 1, std::memory_order_release);
        return true;
      }
      if (turn < place) return false;  // full
      place = tail_.load(std::memory_order_relaxed);
    }
  }

  std::optional<T> pop_cell() {
    std::size_t place = head_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[place % kCells];
      const std::size_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn == place + 1) {
        if (!head_.compare_exchange_weak(place, place + 1, std::memory_order_seq_cst)) continue;
        const T item = cell.item;
        cell.turn.store(place + kCells, std::memory_order_release);
        return item;
      }
      if (turn < place + 1) return std::nullopt;  // empty, or still being written
      place = head_.load(std::memory_order_relaxed);
    }
  }

  std::unique_ptr<Cell[]> cells_;
  alignas(kCacheLine) std::atomic<std::size_t> head_{0};
  alignas(kCacheLine) std::atomic<std::size_t> tail_{0};
  alignas(kCacheLine) std::atomic<std::size_t> overflowing_{0};
  std::mutex overflow_mutex_;
  std::deque<T> overflow_;
};

}  // namespace ringside::sim
