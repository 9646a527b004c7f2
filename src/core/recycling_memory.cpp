#include "core/recycling_memory.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <utility>

namespace ringside {
namespace {

bool recycled(std::size_t bytes, std::size_t alignment) {
  return bytes <= RecyclingMemory::kLargestBlock && alignment <= alignof(std::max_align_t);
}

}  // namespace

RecyclingMemory::Owner RecyclingMemory::make() { return Owner(new RecyclingMemory); }

void RecyclingMemory::LetGo::operator()(RecyclingMemory* memory) const {
  bool unused = false;
  {
    const std::lock_guard lock(memory->mutex_);
    memory->owned_ = false;
    unused = memory->taken_ == 0;
  }
  if (unused) delete memory;
}

RecyclingMemory::~RecyclingMemory() {
  for (Free* block : free_) {
    while (block != nullptr) ::operator delete(std::exchange(block, block->next));
  }
}

void* RecyclingMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (!recycled(bytes, alignment)) return ::operator new(bytes, std::align_val_t(alignment));
  const std::size_t size = std::bit_ceil(std::max(bytes, kSmallestBlock));
  Free*& kept = free_[static_cast<std::size_t>(std::countr_zero(size / kSmallestBlock))];
  const std::lock_guard lock(mutex_);
  void* block = kept;
  if (block != nullptr) {
    kept = kept->next;
  } else {
    block = ::operator new(size);
  }
  ++taken_;
  return block;
}

void RecyclingMemory::do_deallocate(void* block, std::size_t bytes, std::size_t alignment) {
  if (!recycled(bytes, alignment)) {
    return ::operator delete(block, std::align_val_t(alignment));
  }
  const std::size_t size = std::bit_ceil(std::max(bytes, kSmallestBlock));
  Free*& kept = free_[static_cast<std::size_t>(std::countr_zero(size / kSmallestBlock))];
  bool unused = false;
  {
    const std::lock_guard lock(mutex_);
    kept = ::new (block) Free{kept};
    unused = --taken_ == 0 && !owned_;
  }
  if (unused) delete this;
}

}  // namespace ringside
