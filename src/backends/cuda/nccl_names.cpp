#include "backends/cuda/nccl_names.h"

#include <fmt/format.h>

#include "ringside/error.h"

namespace ringside::cuda {

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return ncclFloat32;
    case DType::kFloat64:
      return ncclFloat64;
    case DType::kInt32:
      return ncclInt32;
    case DType::kInt64:
      return ncclInt64;
    case DType::kFloat16:
      return ncclFloat16;
    case DType::kBFloat16:
      return ncclBfloat16;
    case DType::kUInt8:
      return ncclUint8;
  }
  throw Error(ErrorKind::kUnavailable, fmt::format("NCCL has no type for {}", to_string(dtype)));
}

ncclRedOp_t nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ncclSum;
    case ReduceOp::kAvg:
      return ncclAvg;
    case ReduceOp::kMin:
      return ncclMin;
    case ReduceOp::kMax:
      return ncclMax;
    case ReduceOp::kProd:
      return ncclProd;
  }
  throw Error(ErrorKind::kUnavailable, fmt::format("NCCL has no operation for {}", to_string(op)));
}

void check_available(const CollectiveCall& call) {
  const Operation operation = call.operation;
  if (operation == Operation::kAllReduce || operation == Operation::kBroadcast) return;
  throw Error(ErrorKind::kUnavailable,
              fmt::format("the cuda backend has no {}: of the operations between ranks it has "
                          "all-reduce and broadcast",
                          to_string(operation)),
              "run this on the sim backend, which has every operation");
}

}  // namespace ringside::cuda
