#include "calculators/bucket_plan.h"

#include <algorithm>
#include <numeric>

#include "parallel/ddp_buckets.h"

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
  const BucketLimits limits{request.first_bytes, request.cap_bytes};
  const bool finds_unused = request.find_unused_parameters;
  BucketPlan plan;
  plan.first_iteration = planned(first_buckets(tensors, limits, finds_unused), parameters);
  plan.later = plan.first_iteration;
  if (finds_unused) return plan;
  std::reverse(tensors.begin(), tensors.end());
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  plan.later = planned(rebuilt_buckets(tensors, limits, order), parameters);
  return plan;
}

}  // namespace ringside
