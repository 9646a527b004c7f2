// A collective that leaves its result where its input is.
#pragma once

#include <cstddef>

#include "ringside/comm.h"
#include "ringside/tensor.h"

namespace ringside {

/// On all elements of `tensor`.
inline CollectiveCall in_place_call(Operation operation, const Tensor& tensor,
                                    Algorithm algorithm = Algorithm::kAutomatic) {
  CollectiveCall call;
  call.operation = operation;
  call.algorithm = algorithm;
  call.count = static_cast<std::size_t>(tensor.numel());
  call.dtype = tensor.dtype();
  call.send = tensor.array();
  call.recv = tensor.array();
  return call;
}

}  // namespace ringside
