// The cuda world: one rank per GPU, all in this process, with NCCL between them. It has memory,
// streams, events, every kernel, all-reduce and broadcast; another collective is an
// Error(kUnavailable) that names it. Not yet run on a GPU.
#pragma once

#include <memory>
#include <string>

#include "ringside/world.h"

namespace ringside {

/// Empty when there is a CUDA driver and at least one GPU; else what is missing and what to do.
std::string cuda_why_unavailable();

/// Rank r gets the r-th GPU that CUDA_VISIBLE_DEVICES shows. Throws Error(kInvalidArgument) for
/// options that cannot be right, Error(kUnavailable) where there is no GPU, or fewer than ranks.
std::unique_ptr<World> open_cuda_world(const WorldOptions& options);

}  // namespace ringside
