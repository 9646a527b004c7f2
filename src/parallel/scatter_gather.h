// How values are taken apart for replicas and joined again, whatever is done with their tensors.
// [torch/nn/parallel/scatter_gather.py]
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "ringside/value.h"

namespace ringside {

/// The parts of one tensor, at most one for each device.
using ScatterTensor = std::function<std::vector<Tensor>(const Tensor& tensor)>;
/// torch's scatter_kwargs for `devices` devices: empty if there are no arguments.
std::vector<Arguments> scatter_arguments(const Arguments& arguments, std::size_t devices,
                                         const ScatterTensor& scatter);

/// Joins one tensor of each replica.
using GatherTensors = std::function<Tensor(std::vector<Tensor> parts)>;
/// torch's gather of one value of each replica. Throws Error(kTrainingFailed) for values that
/// cannot be joined: numbers, dicts of other lengths, another type than the first replica's.
Value gather_values(const std::vector<Value>& values, const GatherTensors& gather);

}  // namespace ringside
