// DDP's bucket assignment, as torch.distributed computes it.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/counted.h"
#include "parallel/ddp_buckets.h"
#include "ringside/error.h"
#include "ringside/strategy.h"

namespace ringside {
namespace {

/// The bucket that tensors of one dtype and device are gathered in.
struct OpenBucket {
  std::vector<std::size_t> indices;
  std::size_t bytes = 0;
  std::size_t limit = 0;  ///< index of the limit that applies
};

void check(std::size_t tensors, std::size_t limits, std::size_t indices) {
  if (limits == 0) throw Error(ErrorKind::kInvalidArgument, "buckets: there is no limit");
  if (indices == 0 || indices == tensors) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("buckets: {} for {}", counted(indices, "index"), counted(tensors, "tensor")));
}

/// Buckets in the order of their smallest index.
void sort_by_first_index(BucketAssignment& assignment) {
  std::vector<std::pair<std::vector<std::size_t>, std::size_t>> pairs;
  for (std::size_t i = 0; i < assignment.buckets.size(); ++i) {
    pairs.emplace_back(std::move(assignment.buckets[i]), assignment.limits[i]);
  }
  // Indices ascend within a bucket, and no two buckets share one.
  std::sort(pairs.begin(), pairs.end(), [](const auto& left, const auto& right) {
    return left.first.front() < right.first.front();
  });
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    assignment.buckets[i] = std::move(pairs[i].first);
    assignment.limits[i] = pairs[i].second;
  }
}

}  // namespace

BucketAssignment assign_buckets(const std::vector<BucketedTensor>& tensors,
                                const std::vector<std::size_t>& limits,
                                const std::vector<std::size_t>& indices) {
  check(tensors.size(), limits.size(), indices.size());
  BucketAssignment assignment;
  std::map<std::pair<DType, int>, OpenBucket> open;
  const auto close = [&](OpenBucket& bucket) {
    assignment.buckets.push_back(std::exchange(bucket.indices, {}));
    assignment.limits.push_back(limits[bucket.limit]);
    bucket.bytes = 0;
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const BucketedTensor& tensor = tensors[i];
    const std::size_t index = indices.empty() ? i : indices[i];
    if (tensor.sparse) {
      assignment.buckets.push_back({index});
      assignment.limits.push_back(0);
      continue;
    }
    OpenBucket& bucket = open[{tensor.dtype, tensor.device}];
    bucket.indices.push_back(index);
    bucket.bytes += tensor.bytes;
    if (bucket.bytes >= limits[bucket.limit]) {
      close(bucket);
      bucket.limit = std::min(bucket.limit + 1, limits.size() - 1);
    }
  }
  for (auto& [key, bucket] : open) {
    if (!bucket.indices.empty()) close(bucket);
  }
  if (indices.empty()) sort_by_first_index(assignment);
  return assignment;
}

BucketAssignment first_buckets(const std::vector<BucketedTensor>& parameters,
                               const BucketLimits& limits, bool finds_unused) {
  const std::size_t unlimited = std::numeric_limits<std::size_t>::max();
  BucketAssignment assignment =
      assign_buckets(parameters, finds_unused ? std::vector{limits.first_bytes, limits.cap_bytes}
                                              : std::vector{unlimited});
  std::reverse(assignment.buckets.begin(), assignment.buckets.end());
  std::reverse(assignment.limits.begin(), assignment.limits.end());
  return assignment;
}

BucketAssignment rebuilt_buckets(const std::vector<BucketedTensor>& ready,
                                 const BucketLimits& limits,
                                 const std::vector<std::size_t>& indices) {
  return assign_buckets(ready, {limits.first_bytes, limits.cap_bytes}, indices);
}

BucketAssignment assign_buckets(const std::vector<std::size_t>& tensor_bytes,
                                const std::vector<std::size_t>& limits) {
  std::vector<BucketedTensor> tensors;
  tensors.reserve(tensor_bytes.size());
  for (const std::size_t bytes : tensor_bytes) tensors.push_back({.bytes = bytes});
  return assign_buckets(tensors, limits);
}

}  // namespace ringside
