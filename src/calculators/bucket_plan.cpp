#include "calculators/bucket_plan.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "calculators/known_models.h"
#include "ringside/strategy.h"

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
  for (const NamedShape& parameter : parameters) {
    bytes.push_back(elements_of(parameter) * size_of(request.dtype));
  }
  const std::vector<std::size_t> limits{request.first_bytes, request.cap_bytes};
  BucketPlan plan;
  if (request.find_unused_parameters) {
    plan.first_iteration = planned(assign_buckets(bytes, limits), bytes);
    std::reverse(plan.first_iteration.begin(), plan.first_iteration.end());
    plan.later = plan.first_iteration;
    return plan;
  }
  plan.first_iteration = planned(assign_buckets(bytes, {SIZE_MAX}), bytes);
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::vector<BucketedTensor> ready;
  for (const std::size_t number : order) {
    ready.push_back({.bytes = bytes[number], .dtype = request.dtype});
  }
  plan.later = planned(assign_buckets(ready, limits, order), bytes);
  return plan;
}

}  // namespace ringside
