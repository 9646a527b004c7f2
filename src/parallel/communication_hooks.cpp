// The communication hooks that PyTorch brings along.
// [torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py, 1.13]
#include <utility>

#include "parallel/bucket_operations.h"
#include "parallel/exchange.h"
#include "parallel/in_place_call.h"
#include "ringside/ddp.h"

namespace ringside {
namespace {

/// Cast, divide and sum in `dtype`, cast back into the bucket on the communication stream, behind
/// the sum.
ReducedBucket reduce_compressed(const GradientBucket& bucket, Rank& rank, DType dtype,
                                Algorithm algorithm) {
  const Tensor compressed = Tensor::empty(rank.device, bucket.values.shape(), dtype,
                                          MemoryKind::kBuckets, bucket.values.name());
  convert(compressed, bucket.values, rank.device.compute());
  divide_in_place(compressed, rank.communicator.size());
  all_reduce_in_place(rank, compressed, algorithm);
  Stream& stream = rank.device.stream(StreamKind::kCommunication);
  convert(bucket.values, compressed, stream);
  return {bucket.values, Work(stream.record())};
}

}  // namespace

Work all_reduce_in_place(const Rank& rank, const Tensor& tensor, Algorithm algorithm) {
  return enqueue_collective(rank, in_place_call(Operation::kAllReduce, tensor, algorithm));
}

CommunicationHook all_reduce_hook(Algorithm algorithm) {
  return [algorithm](const GradientBucket& bucket, Rank& rank) -> ReducedBucket {
    divide_in_place(bucket.values, rank.communicator.size());
    return {bucket.values, all_reduce_in_place(rank, bucket.values, algorithm)};
  };
}

CommunicationHook fp16_compress_hook(Algorithm algorithm) {
  return [algorithm](const GradientBucket& bucket, Rank& rank) {
    return reduce_compressed(bucket, rank, DType::kFloat16, algorithm);
  };
}

CommunicationHook bf16_compress_hook(Algorithm algorithm) {
  return [algorithm](const GradientBucket& bucket, Rank& rank) {
    return reduce_compressed(bucket, rank, DType::kBFloat16, algorithm);
  };
}

}  // namespace ringside
