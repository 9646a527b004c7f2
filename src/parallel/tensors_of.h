// The tensors of a module's lists, without their names.
#pragma once

#include <vector>

#include "ringside/nn.h"

namespace ringside {

inline std::vector<Tensor> tensors_of(const std::vector<NamedTensor>& entries) {
  std::vector<Tensor> tensors;
  tensors.reserve(entries.size());
  for (const NamedTensor& entry : entries) tensors.push_back(entry.tensor);
  return tensors;
}

}  // namespace ringside
