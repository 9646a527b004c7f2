// The inner loop of most collectives: contributions added one after the other, in one pass over
// memory. Compiled for several instruction sets; all give the same bits.
#pragma once

#include <cstdint>
#include <vector>

namespace ringside {

/// destination[i] = ((s0[i] + s1[i]) + s2[i]) + ..., each contribution times `factor` first if
/// `scaled`. A destination may be a source, as a whole. T is float or double.
template <typename T>
struct ChainSum {
  const T* const* sources;
  std::int64_t source_count;  ///< at least 1
  T* const* destinations;
  std::int64_t destination_count;
  std::int64_t elements;
  bool scaled;
  T factor;
};

/// With the widest vectors that this processor has. Any thread.
template <typename T>
void add_chain(const ChainSum<T>& chain);

namespace chain_sum_variants {

template <typename T>
using Variant = void (*)(const ChainSum<T>&);

template <typename T>
void baseline(const ChainSum<T>& chain);
template <typename T>
void avx2(const ChainSum<T>& chain);
template <typename T>
void avx512(const ChainSum<T>& chain);

/// All that this processor can run, the widest vectors last.
template <typename T>
std::vector<Variant<T>> runnable();

}  // namespace chain_sum_variants
}  // namespace ringside
