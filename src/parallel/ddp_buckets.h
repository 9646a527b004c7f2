// Which limits DistributedDataParallel's buckets have, in its first iteration and later.
// [torch/nn/parallel/distributed.py, _ddp_init_helper; reducer.cpp, rebuild_buckets; 1.13]
#pragma once

#include <cstddef>
#include <vector>

#include "ringside/strategy.h"

namespace ringside {

struct BucketLimits {
  std::size_t first_bytes = 0;
  std::size_t cap_bytes = 0;
};

/// Of the first iteration, for parameters in the order of registration; the list of buckets is
/// reversed. Without `finds_unused` there is one for each dtype and device.
BucketAssignment first_buckets(const std::vector<BucketedTensor>& parameters,
                               const BucketLimits& limits, bool finds_unused);

/// After the rebuild, for parameters in the order in which their gradients got ready, which have
/// the numbers `indices`.
BucketAssignment rebuilt_buckets(const std::vector<BucketedTensor>& ready,
                                 const BucketLimits& limits,
                                 const std::vector<std::size_t>& indices);

}  // namespace ringside
