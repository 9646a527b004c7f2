// torch.sum, addition by addition.
#pragma once

#include <span>

namespace ringside::test {

/// The sum of a contiguous float64 tensor as PyTorch's CPU kernel adds it on one thread, bit for
/// bit: 16 columns (4 vectors of 4), each a cascade of 4 levels, then the columns, then what is
/// left over. Source: aten/src/ATen/native/cpu/SumKernel.cpp (multi_row_sum, row_sum,
/// vectorized_inner_sum); vectors have 4 doubles with AVX2 and without.
double torch_sum(std::span<const double> values);

}  // namespace ringside::test
