// The memory account of one device, the same on every backend: who holds how many bytes for what.
//
// Threads: any. Invariant: used is the sum of used_by_kind, and never above a capacity.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "core/recycling_memory.h"
#include "ringside/device.h"

namespace ringside {

class MemoryLedger : public std::enable_shared_from_this<MemoryLedger> {
 public:
  /// `device` is its name, for messages; `capacity` in bytes, 0 = unlimited.
  MemoryLedger(std::string device, std::size_t capacity);

  /// Takes `bytes` into the account until the last copy of the result goes (Buffer's second
  /// argument). Throws Error(kOutOfMemory), and then changes nothing.
  std::shared_ptr<void> charge(std::size_t bytes, MemoryKind kind);
  MemoryAccount account() const;

 private:
  struct Charge;
  void take_off(std::size_t bytes, MemoryKind kind);
  [[noreturn]] void throw_out_of_memory(std::size_t bytes, MemoryKind kind) const;

  const std::string device_;
  const RecyclingMemory::Owner charges_ = RecyclingMemory::make();
  mutable std::mutex mutex_;
  MemoryAccount account_;
};

}  // namespace ringside
