// Scratch memory of kernels, kept from launch to launch so that a steady step allocates nothing.
//
// A launch borrows a Workspace and gives it back at its end; there are as many as launches have run
// at once. The memory is the host's: not device memory, and not in the device's account.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace ringside {

class Workspace {
 public:
  static constexpr std::size_t kArrays = 4;

  /// Uninitialised memory for `count` elements, 64-byte aligned; valid until the same array is
  /// asked for again.
  template <typename T>
  T* array(std::size_t index, std::int64_t count) {
    Array& array = arrays_[index];
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (array.bytes < bytes) array = {Memory(::operator new(bytes, kAlignment)), bytes};
    return static_cast<T*>(array.memory.get());
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, kAlignment); }
  };
  using Memory = std::unique_ptr<void, Free>;
  struct Array {
    Memory memory;
    std::size_t bytes = 0;
  };
  std::array<Array, kArrays> arrays_;
};

/// Thread-safe. Outlives what is borrowed from it.
class WorkspacePool {
 public:
  class Loan {
   public:
    Loan(WorkspacePool& pool, std::unique_ptr<Workspace> workspace)
        : pool_(pool), workspace_(std::move(workspace)) {}
    ~Loan() {
      const std::lock_guard lock(pool_.mutex_);
      pool_.free_.push_back(std::move(workspace_));  // has room: see borrow()
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Workspace* operator->() const { return workspace_.get(); }

   private:
    WorkspacePool& pool_;
    std::unique_ptr<Workspace> workspace_;
  };

  Loan borrow() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      free_.reserve(++made_);
      return {*this, std::make_unique<Workspace>()};
    }
    std::unique_ptr<Workspace> workspace = std::move(free_.back());
    free_.pop_back();
    return {*this, std::move(workspace)};
  }

 private:
  std::mutex mutex_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<Workspace>> free_;
};

}  // namespace ringside
