// torch.utils.data.DistributedSampler: which samples a rank reads in an epoch.
//
// Every rank computes the same order and takes every replicas-th entry of it, so that no rank need
// talk to another. [utils/data/distributed.py]

#include <fmt/format.h>

#include <numeric>

#include "ringside/data.h"
#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

void check(std::int64_t length, int replicas, int rank) {
  if (length < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("sampler over {} samples: must not be negative", length));
  }
  if (replicas < 1) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("sampler for {} replicas: must be at least 1", replicas));
  }
  if (rank < 0 || rank >= replicas) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("sampler for rank {}: must be in [0, {}]", rank, replicas - 1));
  }
}

/// The common order of all ranks. Seed and epoch are added: (seed 0, epoch 3) is (seed 3, epoch 0).
std::vector<std::int64_t> order_of_epoch(std::int64_t length, std::int64_t epoch,
                                         const SamplerOptions& options) {
  if (options.shuffle) {
    return Generator(options.seed + static_cast<std::uint64_t>(epoch)).randperm(length);
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(length));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

std::vector<std::int64_t> distributed_sampler(std::int64_t length, int replicas, int rank,
                                              std::int64_t epoch, const SamplerOptions& options) {
  check(length, replicas, rank);
  const std::vector<std::int64_t> order = order_of_epoch(length, epoch, options);
  const std::int64_t per_rank =
      length / replicas + (!options.drop_last && length % replicas != 0 ? 1 : 0);

  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(per_rank));
  for (std::int64_t i = 0; i < per_rank; ++i) {
    // Beyond its end the order begins again, as often as needed: every rank gets equally many.
    indices.push_back(order[static_cast<std::size_t>((i * replicas + rank) % length)]);
  }
  return indices;
}

}  // namespace ringside
