// The choice among the variants, made once.
#include "comm/chain_sum.h"

namespace ringside {

template <typename T>
void add_chain(const ChainSum<T>& chain) {
  static const chain_sum_variants::Variant<T> widest = chain_sum_variants::runnable<T>().back();
  widest(chain);
}

template void add_chain(const ChainSum<float>& chain);
template void add_chain(const ChainSum<double>& chain);

}  // namespace ringside
