#include "calculators/bucket_plan.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "ringside/strategy.h"

namespace ringside {
namespace {

std::vector<PlannedBucket> planned(const BucketAssignment& assignment,
                                   std::span<const ModelTensor> parameters) {
  std::vector<PlannedBucket> buckets;
  for (const std::vector<std::size_t>& numbers : assignment.buckets) {
    PlannedBucket bucket{numbers, 0};
    for (const std::size_t number : numbers) bucket.bytes += parameters[number].bytes();
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

}  // namespace

BucketPlan plan_buckets(std::span<const ModelTensor> parameters, const BucketPlanRequest& request) {
  std::vector<BucketedTensor> tensors;
  for (const ModelTensor& parameter : parameters) {
    tensors.push_back({.bytes = parameter.bytes(), .dtype = parameter.dtype});
  }
  const std::vector<std::size_t> limits{request.first_bytes, request.cap_bytes};
  BucketPlan plan;
  if (request.find_unused_parameters) {
    plan.first_iteration = planned(assign_buckets(tensors, limits), parameters);
    std::reverse(plan.first_iteration.begin(), plan.first_iteration.end());
    plan.later = plan.first_iteration;
    return plan;
  }
  plan.first_iteration = planned(assign_buckets(tensors, {SIZE_MAX}), parameters);
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::reverse(tensors.begin(), tensors.end());
  plan.later = planned(assign_buckets(tensors, limits, order), parameters);
  return plan;
}

}  // namespace ringside
