// Answers as rows: what the losses want.
#pragma once

#include "ringside/tensor.h"

namespace ringside {

/// [B,classes] as it is, [B,T,classes] as [B*T,classes].
inline Tensor logit_rows(const Tensor& output) {
  const Shape& shape = output.shape();
  if (shape.rank() == 2) return output;
  return reshape(output, Shape{shape.numel() / shape[-1], shape[-1]});
}

/// [B] as it is, [B,T] as [B*T].
inline Tensor target_rows(const Tensor& targets) { return flatten(targets, 0); }

}  // namespace ringside
