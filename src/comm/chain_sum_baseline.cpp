// add_chain for vectors of 16 bytes, which every processor of the kind built for has.
#include "comm/chain_sum_loops.h"

namespace ringside::chain_sum_variants {

template <typename T>
void baseline(const ChainSum<T>& chain) {
  add<T, 16>(chain);
}

template void baseline(const ChainSum<float>& chain);
template void baseline(const ChainSum<double>& chain);

}  // namespace ringside::chain_sum_variants
