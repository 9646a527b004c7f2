// What DistributedDataParallel's constructor checks, in PyTorch's order and key words.
// [torch/nn/parallel/distributed.py, 1.13; reducer.cpp, verify_params_across_processes]
#pragma once

#include <vector>

#include "ringside/nn.h"
#include "ringside/world.h"

namespace ringside {

/// The parameters that require grad. Throws if there are none.
std::vector<NamedTensor> parameters_to_reduce(const Module& module);

/// Throws for more than one id, and for one that is not the rank's own device.
void check_device_ids(const std::vector<int>& device_ids, const Rank& rank);

/// Collective. All ranks must have the same number of parameters, of the same shapes.
void verify_parameters(Rank& rank, const std::vector<NamedTensor>& parameters);

}  // namespace ringside
