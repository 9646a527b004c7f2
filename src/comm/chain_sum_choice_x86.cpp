// The variants of add_chain that this x86 processor, and its system, can run.
#include "comm/chain_sum.h"

namespace ringside::chain_sum_variants {

template <typename T>
std::vector<Variant<T>> runnable() {
  std::vector<Variant<T>> variants{&baseline<T>};
  if (__builtin_cpu_supports("avx2")) variants.push_back(&avx2<T>);
  if (__builtin_cpu_supports("avx512f")) variants.push_back(&avx512<T>);
  return variants;
}

template std::vector<Variant<float>> runnable();
template std::vector<Variant<double>> runnable();

}  // namespace ringside::chain_sum_variants
