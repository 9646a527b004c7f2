// Arena: a list that grows by chunks. Appending never moves what is there and allocates once a
// chunk.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace ringside {

/// Threads: one at a time.
template <typename T, std::size_t kChunk>
class Arena {
  static_assert(std::is_trivially_copyable_v<T> && (kChunk & (kChunk - 1)) == 0);

 public:
  void push_back(const T& value) {
    const std::size_t within = size_ % kChunk;
    if (within == 0) chunks_.push_back(std::make_unique_for_overwrite<T[]>(kChunk));
    chunks_.back()[within] = value;
    ++size_;
  }
  const T& operator[](std::size_t index) const { return chunks_[index / kChunk][index % kChunk]; }
  std::size_t size() const { return size_; }
  void clear() {
    chunks_.clear();
    size_ = 0;
  }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace ringside
