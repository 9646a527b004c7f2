// What batch_norm and sync_batch_norm check.
#pragma once

#include <initializer_list>
#include <string_view>

#include "tensor/operator.h"

namespace ringside {

/// x is [batch, channels] or more, and the others have one element per channel.
void check_batch_norm(std::string_view op, const Tensor& x,
                      std::initializer_list<Operand> per_channel);
/// PyTorch's words (nn/functional.py: _verify_batch_size). An empty batch has no statistics either.
void check_values_per_channel(const Shape& shape);

}  // namespace ringside
