#include "calculators/bucket_plan.h"

#include <algorithm>
#include <numeric>

#include "calculators/known_models.h"
#include "parallel/ddp_buckets.h"

namespace ringside {
namespace {

std::vector<PlannedBucket> planned(const BucketAssignment& assignment,
                                   const std::vector<std::size_t>& bytes) {
  std::vector<PlannedBucket> buckets;
  for (const std::vector<std::size_t>& numbers : assignment.buckets) {
    PlannedBucket bucket{numbers, 0};
    for (const std::size_t number : numbers) bucket.bytes += bytes[number];
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

}  // namespace

BucketPlan plan_buckets(const std::vector<NamedShape>& parameters,
                        const BucketPlanRequest& request) {
  std::vector<std::size_t> bytes;
  std::vector<BucketedTensor> tensors;
  for (const NamedShape& parameter : parameters) {
    bytes.push_back(elements_of(parameter) * size_of(request.dtype));
    tensors.push_back({.bytes = bytes.back(), .dtype = request.dtype});
  }
  const BucketLimits limits{request.first_bytes, request.cap_bytes};
  const bool finds_unused = request.find_unused_parameters;
  BucketPlan plan;
  plan.first_iteration = planned(first_buckets(tensors, limits, finds_unused), bytes);
  plan.later = plan.first_iteration;
  if (finds_unused) return plan;
  std::reverse(tensors.begin(), tensors.end());
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  plan.later = planned(rebuilt_buckets(tensors, limits, order), bytes);
  return plan;
}

}  // namespace ringside
