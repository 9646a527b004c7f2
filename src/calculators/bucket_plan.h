// The buckets that DistributedDataParallel makes for a list of parameters.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "calculators/model_tensors.h"

namespace ringside {

struct PlannedBucket {
  std::vector<std::size_t> parameters;  ///< numbers in the list, in the order of the bucket
  std::size_t bytes = 0;
};

struct BucketPlanRequest {
  std::size_t first_bytes = 1 << 20;              ///< _DEFAULT_FIRST_BUCKET_BYTES
  std::size_t cap_bytes = std::size_t{25} << 20;  ///< bucket_cap_mb
  bool find_unused_parameters = false;
};

struct BucketPlan {
  std::vector<PlannedBucket> first_iteration;
  /// From the second iteration on, if gradients get ready in exactly the reverse order of
  /// registration. With find_unused_parameters the first ones stay: buckets are not rebuilt.
  std::vector<PlannedBucket> later;
};

/// Gradients have their parameters' dtypes; no bucket has two. `parameters`: in the order of
/// registration. Without find_unused_parameters the first iteration has one bucket of each dtype
/// (PyTorch 1.13 and later); with it, the assignment in order of registration, the list of buckets
/// reversed. [reducer.cpp]
BucketPlan plan_buckets(std::span<const ModelTensor> parameters, const BucketPlanRequest& request);

}  // namespace ringside
