// The variants of add_chain for processors of which only one kind is known.
#include "comm/chain_sum.h"

namespace ringside::chain_sum_variants {

template <typename T>
std::vector<Variant<T>> runnable() {
  return {&baseline<T>};
}

template std::vector<Variant<float>> runnable();
template std::vector<Variant<double>> runnable();

}  // namespace ringside::chain_sum_variants
