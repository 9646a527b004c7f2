#include "parallel/reducer.h"

#include <numeric>
#include <utility>

#include "parallel/bucket_operations.h"
#include "parallel/reducer_errors.h"

namespace ringside {

Reducer::Reducer(std::vector<NamedTensor> parameters, Rank& rank, const DdpWrapperOptions& options)
    : parameters_(std::move(parameters)),
      rank_(rank),
      options_(options),
      hook_(options.communication_hook),
      uses_(parameters_.size(), 0),
      usage_(rank, parameters_.size()) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].tensor.add_accumulate_hook(this, [this, i](Tensor&) { gradient_arrived(i); });
  }
  make_first_buckets();
}

Reducer::~Reducer() {
  for (NamedTensor& parameter : parameters_) parameter.tensor.remove_accumulate_hooks(this);
}

void Reducer::set_hook(CommunicationHook hook) {
  if (hook_) throw_second_hook();
  hook_ = std::move(hook);
}

void Reducer::divide_by(Tensor active) {
  active_ = std::move(active);
  divisor_.reset();
}

// ---------------------------------------------------------------- before backward

void Reducer::check_finished() const {
  if (started_) throw_unfinished(parameters_, ready_, rank_.rank, options_);
}

void Reducer::prepare_forward() {
  check_finished();
  if (rebuild_is_due()) rebuild();
}

void Reducer::prepare_backward(const Tensor& output) {
  ++iterations_;
  for (Bucket& bucket : buckets_) bucket.pending = bucket.parameters.size();
  ready_.assign(parameters_.size(), false);
  if (!rebuilt_) ready_order_.clear();
  uses_left_ = uses_;
  next_launch_ = 0;
  marked_unused_ = false;
  armed_ = true;
  if (!finds_unused()) return;
  unused_ = parameters_not_reached(output, parameters_);
  walked_ = true;
}

// ---------------------------------------------------------------- during backward

void Reducer::gradient_arrived(std::size_t parameter) {
  ran_ = true;
  // Also inside no_sync: a parameter used in any of the accumulated backwards is used.
  if (finds_unused() || in_first_static_iteration()) usage_.mark(parameter);
  if (!armed_) return;
  if (in_first_static_iteration()) {
    ++uses_[parameter];
    return;
  }
  if (!std::exchange(marked_unused_, true)) {
    for (const std::size_t unused : unused_) mark_ready(unused);
  }
  if (options_.static_graph) {
    if (uses_left_[parameter] == 0) throw_graph_changed(parameters_, parameter, rank_.rank);
    if (--uses_left_[parameter] > 0) return;
  }
  if (rebuilds()) ready_order_.push_back(parameter);
  mark_ready(parameter);
}

void Reducer::mark_ready(std::size_t parameter) {
  if (ready_[parameter]) throw_ready_twice(parameters_, parameter, rank_.rank);
  ready_[parameter] = true;
  started_ = true;
  move_to_bucket(parameter);
  if (--buckets_[places_[parameter].bucket].pending == 0) launch_ready_buckets();
  if (next_launch_ == buckets_.size() && finds_unused()) usage_.launch();
}

double Reducer::divisor() {
  if (!divisor_) {
    const double ranks = rank_.communicator.size();
    divisor_ = active_ ? host_value(active_, ranks) : ranks;
  }
  return *divisor_;
}

/// The gradient's values in its bucket, divided unless a communication hook does that.
/// [reducer.cpp, mark_variable_ready_dense]
void Reducer::move_to_bucket(std::size_t parameter) {
  const Place place = places_[parameter];
  Tensor view = buckets_[place.bucket].gradients.views[place.position];
  Tensor& owner = parameters_[parameter].tensor;
  const Tensor gradient = owner.grad();
  OpContext context = rank_.device.context();
  context.bucket = static_cast<int>(place.bucket);
  const ContextScope scope(rank_.device, context);
  if (!gradient) {
    fill_in_place(view, 0);
  } else if (lies_in(view, gradient)) {
    if (!hook_) divide_in_place(view, divisor());
  } else {
    // Without a hook the reciprocal, rounded to the dtype; c10d saves a pass over the gradients so.
    copy_to_bucket(view, gradient, hook_ ? 1 : 1 / divisor());
    if (options_.gradient_as_bucket_view) owner.set_grad(view);
  }
}

void Reducer::launch_ready_buckets() {
  while (next_launch_ < buckets_.size() && buckets_[next_launch_].pending == 0) {
    launch(next_launch_++);
  }
}

void Reducer::launch(std::size_t index) {
  buckets_[index].reduced = reduce(index, buckets_[index].gradients);
}

ReducedBucket Reducer::reduce(std::size_t index, const FlatBuffer& gradients) {
  OpContext context = rank_.device.context();
  context.phase = Phase::kAllReduce;
  context.bucket = static_cast<int>(index);
  const ContextScope scope(rank_.device, context);
  if (!hook_) {
    return {gradients.flat, all_reduce_in_place(rank_, gradients.flat, options_.algorithm)};
  }
  GradientBucket bucket;
  bucket.index = static_cast<int>(index);
  bucket.is_last = index + 1 == buckets_.size();
  bucket.values = gradients.flat;
  bucket.gradients = gradients.views;
  for (const std::size_t parameter : buckets_[index].parameters) {
    bucket.parameters.push_back(parameters_[parameter].tensor);
  }
  ReducedBucket reduced = hook_(bucket, rank_);
  check_hook_result(reduced.values, gradients.flat, index);
  return reduced;
}

// ---------------------------------------------------------------- after backward

/// The first iteration of a static graph: what is used, and how often, is known only now.
/// [reducer.cpp, delay_all_reduce]
void Reducer::reduce_at_the_end() {
  usage_.launch();
  unused_.clear();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (uses_[i] == 0) unused_.push_back(i);
    move_to_bucket(i);
  }
  for (; next_launch_ < buckets_.size(); ++next_launch_) launch(next_launch_);
}

void Reducer::finish() {
  if (!armed_) return;
  if (in_first_static_iteration()) reduce_at_the_end();
  if (next_launch_ < buckets_.size()) return;
  if (options_.static_graph && iterations_ > 1 && rebuilds()) {
    ready_order_.insert(ready_order_.end(), unused_.begin(), unused_.end());
  }
  for (std::size_t index = 0; index < buckets_.size(); ++index) finish_bucket(index);
  if (finds_unused()) usage_.reset();
  divisor_.reset();
  active_ = Tensor();
  started_ = false;
  armed_ = false;
}

void Reducer::finish_bucket(std::size_t index) {
  Bucket& bucket = buckets_[index];
  OpContext context = rank_.device.context();
  context.phase = Phase::kFinalize;
  context.bucket = static_cast<int>(index);
  const ContextScope scope(rank_.device, context);
  bucket.reduced.work.wait(rank_.device.compute());
  if (!bucket.reduced.values.same(bucket.gradients.flat)) {
    copy_in_place(bucket.gradients.flat, bucket.reduced.values);
  }
  bucket.reduced = {};
  for (std::size_t i = 0; i < bucket.parameters.size(); ++i) finish_parameter(bucket, i);
}

/// Used by no rank: the gradient stays what it was, none or old.
bool Reducer::stays_untouched(std::size_t parameter) {
  return (options_.find_unused_parameters || options_.static_graph) &&
         !usage_.used_anywhere(parameter);
}

void Reducer::finish_parameter(const Bucket& bucket, std::size_t position) {
  const std::size_t index = bucket.parameters[position];
  if (stays_untouched(index)) return;
  Tensor& parameter = parameters_[index].tensor;
  const Tensor& view = bucket.gradients.views[position];
  Tensor gradient = parameter.grad();
  if (options_.gradient_as_bucket_view) {
    if (gradient && !lies_in(view, gradient)) throw_not_the_view(parameters_, index, rank_.rank);
    if (!gradient) parameter.set_grad(view);
    return;
  }
  if (!gradient) {  // used by another rank
    gradient = Tensor::empty(rank_.device, view.shape(), view.dtype(), MemoryKind::kGradients,
                             view.name());
    parameter.set_grad(gradient);
  }
  copy_in_place(gradient, view);
}

// ---------------------------------------------------------------- join

void Reducer::shadow_backward() {
  for (std::size_t index = 0; index < buckets_.size(); ++index) {
    const FlatBuffer zeros = zeros_like(rank_.device, buckets_[index].gradients);
    reduce(index, zeros).work.wait(rank_.device.compute());
  }
  if (finds_unused()) {
    usage_.launch();
    usage_.reset();
  }
  if (!rebuilds() || !ready_order_.empty()) return;
  ready_order_.resize(parameters_.size());
  std::iota(ready_order_.begin(), ready_order_.end(), 0);
}

}  // namespace ringside
