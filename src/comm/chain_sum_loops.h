// The body of add_chain, over vectors of kBytes; see vector_lanes.h for why it is a template. A
// block of sums stays in registers while the sources pass.
#pragma once

#include "comm/chain_sum.h"
#include "core/vector_lanes.h"

namespace ringside::chain_sum_variants {

template <typename T, int kBytes, bool kScaled>
typename VectorLanes<T, kBytes>::Type contribution(const ChainSum<T>& chain, const T* from) {
  typename VectorLanes<T, kBytes>::Type value = VectorLanes<T, kBytes>::load(from);
  if constexpr (kScaled) value *= chain.factor;
  return value;
}

template <typename T, int kBytes, int kVectors, bool kScaled>
void add_block(const ChainSum<T>& chain, std::int64_t first) {
  using V = VectorLanes<T, kBytes>;
  typename V::Type sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const T* from = chain.sources[0] + first + v * V::kLanes;
    sums[v] = contribution<T, kBytes, kScaled>(chain, from);
  }
  for (std::int64_t s = 1; s < chain.source_count; ++s) {
    for (int v = 0; v < kVectors; ++v) {
      const T* from = chain.sources[s] + first + v * V::kLanes;
      sums[v] += contribution<T, kBytes, kScaled>(chain, from);
    }
  }
  for (std::int64_t d = 0; d < chain.destination_count; ++d) {
    T* to = chain.destinations[d] + first;
    for (int v = 0; v < kVectors; ++v) V::store(to + v * V::kLanes, sums[v]);
  }
}

template <typename T, int kBytes, bool kScaled>
void add_rest(const ChainSum<T>& chain, std::int64_t first) {
  for (std::int64_t i = first; i < chain.elements; ++i) {
    T sum = kScaled ? chain.sources[0][i] * chain.factor : chain.sources[0][i];
    for (std::int64_t s = 1; s < chain.source_count; ++s) {
      sum += kScaled ? chain.sources[s][i] * chain.factor : chain.sources[s][i];
    }
    for (std::int64_t d = 0; d < chain.destination_count; ++d) chain.destinations[d][i] = sum;
  }
}

template <typename T, int kBytes, bool kScaled>
void add_all(const ChainSum<T>& chain) {
  constexpr int kVectors = 4;
  constexpr std::int64_t kBlock = kVectors * VectorLanes<T, kBytes>::kLanes;
  std::int64_t first = 0;
  for (; first + kBlock <= chain.elements; first += kBlock) {
    add_block<T, kBytes, kVectors, kScaled>(chain, first);
  }
  add_rest<T, kBytes, kScaled>(chain, first);
}

template <typename T, int kBytes>
void add(const ChainSum<T>& chain) {
  if (chain.scaled) {
    add_all<T, kBytes, true>(chain);
  } else {
    add_all<T, kBytes, false>(chain);
  }
}

}  // namespace ringside::chain_sum_variants
