// add_chain for AVX2.
#include "comm/chain_sum_loops.h"

namespace ringside::chain_sum_variants {

template <typename T>
void avx2(const ChainSum<T>& chain) {
  add<T, 32>(chain);
}

template void avx2(const ChainSum<float>& chain);
template void avx2(const ChainSum<double>& chain);

}  // namespace ringside::chain_sum_variants
