// How many threads a kernel gets, and whether its arrays can be read 16 bytes at a time. Pure
// functions; they need no GPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace ringside::cuda {

inline constexpr unsigned kThreads = 256;            ///< of a block
inline constexpr std::size_t kMostBlocks = 4096;     ///< fills every GPU; threads then take more
inline constexpr std::size_t kVectorBytes = 16;      ///< the widest access of one thread
inline constexpr std::size_t kMostGridRows = 65535;  ///< CUDA's limit of a grid's second dimension

/// Blocks for `items` pieces of work of one thread each; at least one, since CUDA refuses none.
constexpr unsigned blocks_for(std::size_t items) {
  const std::size_t blocks = items / kThreads + (items % kThreads == 0 ? 0 : 1);
  return static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, kMostBlocks));
}

/// Blocks for `items` pieces of work of one block each.
constexpr unsigned blocks_for_each(std::size_t items) {
  return static_cast<unsigned>(std::clamp<std::size_t>(items, 1, kMostBlocks * 16));
}

/// Whether every array begins where a vector may. Null, of an array that is not used, does.
inline bool all_aligned(std::initializer_list<const void*> arrays) {
  return std::all_of(arrays.begin(), arrays.end(), [](const void* array) {
    return reinterpret_cast<std::uintptr_t>(array) % kVectorBytes == 0;
  });
}

/// Elements of a vector: as many of the widest type as fit, one where an array is not aligned.
template <typename Widest>
std::size_t vector_width(std::initializer_list<const void*> arrays) {
  return all_aligned(arrays) ? kVectorBytes / sizeof(Widest) : 1;
}

}  // namespace ringside::cuda
