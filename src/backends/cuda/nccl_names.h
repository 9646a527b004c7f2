// Ringside's dtypes and operations as NCCL calls them, and what of them is there.
#pragma once

#include <nccl.h>

#include "ringside/comm.h"

namespace ringside::cuda {

ncclDataType_t nccl_type(DType dtype);
ncclRedOp_t nccl_op(ReduceOp op);

/// Throws Error(kUnavailable) for an operation that this backend does not have, naming it and those
/// that it has.
void check_available(const CollectiveCall& call);

}  // namespace ringside::cuda
