// Which parameters share a bucket: at first, and after the rebuild.
#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "parallel/ddp_buckets.h"
#include "parallel/exchange.h"
#include "parallel/reducer.h"
#include "ringside/error.h"
#include "ringside/strategy.h"

namespace ringside {
namespace {

using Assignment = std::vector<std::vector<std::size_t>>;

/// Rank 0's assignment on every rank: first all indices and the number of buckets, then the sizes.
/// [reducer.cpp, sync_bucket_indices]
Assignment assignment_of_root(Rank& rank, const Assignment& own) {
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> sizes;
  for (const std::vector<std::size_t>& bucket : own) {
    indices.insert(indices.end(), bucket.begin(), bucket.end());
    sizes.push_back(static_cast<std::int64_t>(bucket.size()));
  }
  indices.push_back(static_cast<std::int64_t>(own.size()));
  indices = list_of_root(rank, indices);
  sizes.resize(static_cast<std::size_t>(indices.back()));
  sizes = list_of_root(rank, sizes);

  Assignment assignment;
  auto next = indices.begin();
  for (const std::int64_t size : sizes) {
    assignment.emplace_back(next, next + size);
    next += size;
  }
  return assignment;
}

BucketedTensor bucketed(const Tensor& parameter) {
  return {parameter.bytes(), parameter.dtype(), parameter.device().rank()};
}

BucketLimits limits_of(const DdpWrapperOptions& options) {
  return {options.first_bucket_bytes, options.bucket_cap_bytes};
}

[[noreturn]] void throw_bad_buckets(std::string_view parameter, std::string_view problem) {
  throw Error(ErrorKind::kInvalidInput, fmt::format("buckets: '{}' {}", parameter, problem),
              "the file is damaged or was changed by hand; take another checkpoint");
}

}  // namespace

void Reducer::make_first_buckets() {
  std::vector<BucketedTensor> tensors;
  for (const NamedTensor& parameter : parameters_) tensors.push_back(bucketed(parameter.tensor));
  make_buckets(first_buckets(tensors, limits_of(options_), finds_unused()).buckets);
}

Assignment Reducer::rebuilt_assignment() const {
  std::vector<BucketedTensor> tensors;
  for (const std::size_t index : ready_order_) {
    tensors.push_back(bucketed(parameters_[index].tensor));
  }
  return rebuilt_buckets(tensors, limits_of(options_), ready_order_).buckets;
}

void Reducer::rebuild() {
  make_buckets(assignment_of_root(rank_, rebuilt_assignment()));
  rebuilt_ = true;
}

BucketNames Reducer::next_buckets() const {
  if (!rebuilt_ && !rebuild_is_due()) return {};
  Assignment assignment;
  if (rebuild_is_due()) {
    assignment = rebuilt_assignment();
  } else {
    for (const Bucket& bucket : buckets_) assignment.push_back(bucket.parameters);
  }
  BucketNames names;
  for (const std::vector<std::size_t>& indices : assignment) {
    names.emplace_back();
    for (const std::size_t index : indices) names.back().push_back(parameters_[index].name);
  }
  return names;
}

void Reducer::restore_buckets(const BucketNames& buckets) {
  if (buckets.empty()) return;
  std::map<std::string_view, std::size_t> left;
  for (std::size_t i = 0; i < parameters_.size(); ++i) left.emplace(parameters_[i].name, i);
  Assignment assignment;
  for (const std::vector<std::string>& names : buckets) {
    if (names.empty()) throw_bad_buckets("", "stands there, a bucket without parameters");
    assignment.emplace_back();
    for (const std::string& name : names) {
      const auto found = left.find(name);
      if (found == left.end()) throw_bad_buckets(name, "is in two buckets, or no parameter");
      assignment.back().push_back(found->second);
      left.erase(found);
      const DType own = parameters_[assignment.back().back()].tensor.dtype();
      const DType first = parameters_[assignment.back().front()].tensor.dtype();
      if (own == first) continue;
      throw_bad_buckets(name, fmt::format("is {} in a bucket of {}, which has one dtype",
                                          to_string(own), to_string(first)));
    }
  }
  if (!left.empty()) throw_bad_buckets(left.begin()->first, "is in none of the buckets");
  make_buckets(assignment);
  rebuilt_ = true;
}

void Reducer::make_buckets(const Assignment& assignment) {
  buckets_.clear();  // before the new ones are made; gradients that are views keep what they need
  places_.assign(parameters_.size(), {0, 0});
  for (const std::vector<std::size_t>& indices : assignment) {
    std::vector<Tensor> tensors;
    for (std::size_t position = 0; position < indices.size(); ++position) {
      tensors.push_back(parameters_[indices[position]].tensor);
      places_[indices[position]] = {buckets_.size(), position};
    }
    buckets_.push_back({indices,
                        FlatBuffer(rank_.device, tensors, MemoryKind::kBuckets,
                                   fmt::format("bucket {}", buckets_.size())),
                        indices.size(),
                        {}});
    if (options_.gradient_as_bucket_view) move_gradients(buckets_.back());
  }
}

/// Gradients that are there already move to the new bucket.
void Reducer::move_gradients(const Bucket& bucket) {
  for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
    Tensor& parameter = parameters_[bucket.parameters[i]].tensor;
    if (!parameter.grad()) continue;
    Tensor view = bucket.gradients.views[i];
    copy_in_place(view, parameter.grad());
    parameter.set_grad(view);
  }
}

std::vector<TraceRun::Bucket> Reducer::buckets() const {
  std::vector<TraceRun::Bucket> result;
  for (const Bucket& bucket : buckets_) {
    TraceRun::Bucket entry;
    entry.bytes = bucket.gradients.flat.bytes();
    for (const std::size_t index : bucket.parameters) {
      entry.parameters.push_back(parameters_[index].name);
    }
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace ringside
