// add_chain for AVX-512.
#include "comm/chain_sum_loops.h"

namespace ringside::chain_sum_variants {

template <typename T>
void avx512(const ChainSum<T>& chain) {
  add<T, 64>(chain);
}

template void avx512(const ChainSum<float>& chain);
template void avx512(const ChainSum<double>& chain);

}  // namespace ringside::chain_sum_variants
