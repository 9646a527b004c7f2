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

std::size_t RecyclingMemory::place_of(std::size_t bytes) {
  const std::size_t size = std::bit_ceil(std::max(bytes, kSmallestBlock));
  return static_cast<std::size_t>(std::countr_zero(size / kSmallestBlock));
}

void* RecyclingMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (!recycled(bytes, alignment)) {
    void* block = ::operator new(bytes, std::align_val_t(alignment));
    const std::lock_guard lock(mutex_);
    ++taken_;
    return block;
  }
  Free*& first = free_[place_of(bytes)];
  const std::lock_guard lock(mutex_);
  void* block = first;
  if (block != nullptr) {
    first = first->next;
  } else {
    block = ::operator new(kSmallestBlock << place_of(bytes));
  }
  ++taken_;
  return block;
}

void RecyclingMemory::do_deallocate(void* block, std::size_t bytes, std::size_t alignment) {
  const bool kept = recycled(bytes, alignment);
  if (!kept) ::operator delete(block, std::align_val_t(alignment));
  bool unused = false;
  {
    const std::lock_guard lock(mutex_);
    if (kept) {
      Free*& first = free_[place_of(bytes)];
      first = ::new (block) Free{first};
    }
    unused = --taken_ == 0 && !owned_;
  }
  if (unused) delete this;
}

}  // namespace ringside
