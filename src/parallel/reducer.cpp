#include "parallel/reducer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <map>
#include <utility>

#include "parallel/exchange.h"
#include "ringside/error.h"

namespace ringside {
namespace {

[[noreturn]] void throw_bad_buckets(std::string_view parameter, std::string_view problem) {
  throw Error(ErrorKind::kInvalidInput,
              fmt::format("checkpoint: buckets: '{}' {}", parameter, problem),
              "the file is damaged or was changed by hand; take another checkpoint");
}

}  // namespace

Reducer::Reducer(std::vector<NamedTensor> parameters, Rank& rank, const DdpOptions& options)
    : parameters_(std::move(parameters)), rank_(rank), options_(options) {
  std::vector<std::size_t> all(parameters_.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = i;
    parameters_[i].tensor.set_accumulate_hook([this, i](Tensor&) { gradient_ready(i); });
  }
  make_buckets({all});
}

Reducer::~Reducer() {
  for (NamedTensor& parameter : parameters_) parameter.tensor.set_accumulate_hook({});
}

void Reducer::make_buckets(const std::vector<std::vector<std::size_t>>& assignment) {
  buckets_.clear();
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
  }
}

void Reducer::check_finished() const {
  if (!started_ || finished_) return;
  std::vector<std::size_t> missing;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (ready_[i]) continue;
    missing.push_back(i);
    names.push_back(parameters_[i].name);
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("Expected to have finished reduction in the prior iteration before "
                          "starting a new one: your module has parameters that were not used in "
                          "producing loss. Parameter indices which did not receive grad for rank "
                          "{}: {} ({})",
                          rank_.rank, fmt::join(missing, " "), fmt::join(names, ", ")),
              "make sure that every parameter takes part in the loss of every rank, or freeze it "
              "before wrapping the module");
}

void Reducer::prepare() {
  check_finished();
  if (!rebuilt_ && ready_order_.size() == parameters_.size()) rebuild();
  for (Bucket& bucket : buckets_) bucket.pending = bucket.parameters.size();
  ready_.assign(parameters_.size(), false);
  if (!rebuilt_) ready_order_.clear();
  next_launch_ = 0;
  started_ = false;
  finished_ = false;
  armed_ = true;
}

void Reducer::rebuild() {
  // Every rank computes the assignment from rank 0's order; c10d broadcasts the bucket sizes as
  // well, to the same end.
  make_buckets(assignment_of(list_of_root(rank_, {ready_order_.begin(), ready_order_.end()})));
  rebuilt_ = true;
}

std::vector<std::vector<std::size_t>> Reducer::assignment_of(
    const std::vector<std::int64_t>& order) const {
  std::vector<std::size_t> bytes;
  for (const std::int64_t index : order) {
    bytes.push_back(parameters_[static_cast<std::size_t>(index)].tensor.bytes());
  }
  BucketAssignment assignment =
      assign_buckets(bytes, {options_.first_bucket_bytes, options_.bucket_cap_bytes});
  for (std::vector<std::size_t>& bucket : assignment.buckets) {
    for (std::size_t& position : bucket) position = static_cast<std::size_t>(order[position]);
  }
  return assignment.buckets;
}

BucketNames Reducer::next_buckets() const {
  std::vector<std::vector<std::size_t>> assignment;
  if (!rebuilt_ && ready_order_.size() == parameters_.size()) {
    assignment = assignment_of({ready_order_.begin(), ready_order_.end()});
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
  std::map<std::string_view, std::size_t> left;
  for (std::size_t i = 0; i < parameters_.size(); ++i) left.emplace(parameters_[i].name, i);
  std::vector<std::vector<std::size_t>> assignment;
  for (const std::vector<std::string>& names : buckets) {
    if (names.empty()) throw_bad_buckets("", "stands there, a bucket without parameters");
    assignment.emplace_back();
    for (const std::string& name : names) {
      const auto found = left.find(name);
      if (found == left.end()) throw_bad_buckets(name, "is in two buckets, or no parameter");
      assignment.back().push_back(found->second);
      left.erase(found);
    }
  }
  if (!left.empty()) throw_bad_buckets(left.begin()->first, "is in none of the buckets");
  make_buckets(assignment);
  rebuilt_ = true;
}

void Reducer::gradient_ready(std::size_t parameter) {
  if (!armed_) return;
  if (ready_[parameter]) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("Expected to mark a variable ready only once: parameter {} ({}) got a "
                            "second gradient in one iteration",
                            parameter, parameters_[parameter].name),
                "run one backward per forward, or accumulate inside no_sync");
  }
  started_ = true;
  ready_[parameter] = true;
  if (!rebuilt_) ready_order_.push_back(parameter);

  const Place place = places_[parameter];
  Bucket& bucket = buckets_[place.bucket];
  const Tensor gradient = parameters_[parameter].tensor.grad();
  const Tensor& view = bucket.gradients.views[place.position];
  OpContext context = rank_.device.context();
  context.bucket = static_cast<int>(place.bucket);
  const ContextScope scope(rank_.device, context);
  const TensorRef reads[] = {{gradient.name(), &gradient.array()}};
  const TensorRef writes[] = {{bucket.gradients.flat.name(), &view.array()}};
  OpInfo info;
  info.name = "copy-to-bucket";
  info.label = parameters_[parameter].name;
  info.flops = static_cast<double>(view.numel());
  info.bytes = view.bytes();
  info.reads = reads;
  info.writes = writes;
  rank_.device.compute().submit(
      info, [to = view.array(), from = gradient.array(), factor = 1.0 / rank_.communicator.size()](
                LaunchContext& launch) { launch.kernels.scale(launch, to, from, factor); });
  if (--bucket.pending == 0) launch_ready_buckets();
}

void Reducer::launch_ready_buckets() {
  while (next_launch_ < buckets_.size() && buckets_[next_launch_].pending == 0) {
    launch(next_launch_++);
  }
}

void Reducer::launch(std::size_t index) {
  Bucket& bucket = buckets_[index];
  OpContext context = rank_.device.context();
  context.phase = Phase::kAllReduce;
  context.bucket = static_cast<int>(index);
  const ContextScope scope(rank_.device, context);
  CollectiveCall call;
  call.operation = Operation::kAllReduce;
  call.algorithm = options_.algorithm;
  call.count = static_cast<std::size_t>(bucket.gradients.flat.numel());
  call.dtype = bucket.gradients.flat.dtype();
  call.send = bucket.gradients.flat.array();
  call.recv = call.send;
  bucket.work = enqueue_collective(rank_, std::move(call));
}

void Reducer::finish() {
  if (!armed_ || next_launch_ < buckets_.size()) return;
  OpContext context = rank_.device.context();
  context.phase = Phase::kFinalize;
  for (std::size_t index = 0; index < buckets_.size(); ++index) {
    Bucket& bucket = buckets_[index];
    context.bucket = static_cast<int>(index);
    const ContextScope scope(rank_.device, context);
    bucket.work.wait(rank_.device.compute());
    for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
      Tensor gradient = parameters_[bucket.parameters[i]].tensor.grad();
      copy_in_place(gradient, bucket.gradients.views[i]);
    }
  }
  finished_ = true;
  armed_ = false;
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
