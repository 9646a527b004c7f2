// DDP's reducer: gradients into buckets, buckets all-reduced while backward still runs, results
// back into the gradients.
//
// The rules are c10d's [torch/csrc/distributed/c10d/reducer.cpp, 1.13]. The first iteration has one
// bucket (with find_unused_parameters: two limits, parameters in registration order, the list
// reversed); after the first synchronised backward the buckets are rebuilt in rank 0's
// gradient-ready order with the limits [first bucket, cap], unless find_unused_parameters is on. A
// gradient is multiplied by 1/W while it is copied into its bucket; one that lives there already is
// divided by W; with a communication hook neither. Buckets are launched strictly in order. Left
// out: sparse gradients. Threads: the rank's own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "parallel/coalesce.h"
#include "parallel/unused_parameters.h"
#include "ringside/ddp.h"

namespace ringside {

class Reducer {
 public:
  /// Hooks the parameters, which all require grad, in registration order.
  Reducer(std::vector<NamedTensor> parameters, Rank& rank, const DdpWrapperOptions& options);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Before a forward with grad enabled: throws PyTorch's error if the previous backward left
  /// gradients unreduced, and rebuilds the buckets if that is due.
  void prepare_forward();
  /// Throws that error without a forward.
  void check_finished() const;
  /// After a forward that synchronises: arms the hooks for the next backward.
  void prepare_backward(const Tensor& output);
  /// After the last node of backward: every bucket in order is waited for (by the compute stream)
  /// and copied back into the gradients. Does nothing if some bucket was never launched.
  void finish();

  /// From the next backward on. Throws Error(kInvalidArgument) if there is one already.
  void set_hook(CommunicationHook hook);
  /// Whether a backward has begun.
  bool has_run() const { return ran_; }
  /// Gradients of the next backward are divided by the value of `active`, not by the world size.
  void divide_by(Tensor active);
  /// What a rank without batches does while the others run backward: the same collectives, with
  /// zeros. Its gradients stay.
  void shadow_backward();

  /// Whether the last forward with find_unused_parameters found all of them in use.
  bool found_all_used() const { return walked_ && unused_.empty(); }
  std::vector<TraceRun::Bucket> buckets() const;
  /// The parameters of each bucket of the next forward, which may be due to rebuild them. Empty
  /// while they are the first ones: they follow from the parameters.
  BucketNames next_buckets() const;
  /// Before the first forward: these buckets, and no others from now on; nothing if there are none.
  /// Throws Error(kInvalidInput) unless each parameter is in one of them.
  void restore_buckets(const BucketNames& buckets);

 private:
  struct Bucket {
    std::vector<std::size_t> parameters;
    FlatBuffer gradients;
    std::size_t pending = 0;  // gradients that have not come yet
    ReducedBucket reduced;
  };
  struct Place {
    std::size_t bucket;
    std::size_t position;
  };

  // buckets
  void make_first_buckets();
  void make_buckets(const std::vector<std::vector<std::size_t>>& assignment);
  void rebuild();
  bool rebuild_is_due() const { return rebuilds() && ready_order_.size() == parameters_.size(); }
  /// Of the parameters in the order in which their gradients were ready.
  std::vector<std::vector<std::size_t>> rebuilt_assignment() const;
  void move_gradients(const Bucket& bucket);
  bool rebuilds() const { return !rebuilt_ && (options_.static_graph || !finds_unused()); }

  // one iteration
  bool finds_unused() const { return options_.find_unused_parameters && !options_.static_graph; }
  bool in_first_static_iteration() const { return options_.static_graph && iterations_ == 1; }
  void gradient_arrived(std::size_t parameter);
  void mark_ready(std::size_t parameter);
  void move_to_bucket(std::size_t parameter);
  double divisor();
  void launch_ready_buckets();
  void launch(std::size_t index);
  ReducedBucket reduce(std::size_t index, const FlatBuffer& gradients);
  void reduce_at_the_end();
  void finish_bucket(std::size_t index);
  void finish_parameter(const Bucket& bucket, std::size_t position);
  bool stays_untouched(std::size_t parameter);

  std::vector<NamedTensor> parameters_;
  Rank& rank_;
  DdpWrapperOptions options_;
  CommunicationHook hook_;
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;             // of each parameter
  std::vector<std::size_t> ready_order_;  // of the iteration before the rebuild

  std::vector<bool> ready_;          // of each parameter, in this iteration
  std::vector<int> uses_;            // static graph: hook calls of each in the first iteration
  std::vector<int> uses_left_;       // static graph: in this iteration
  std::vector<std::size_t> unused_;  // on this rank, in this iteration
  UsageMap usage_;
  Tensor active_;                  // join: ranks that still have batches; undefined: all
  std::optional<double> divisor_;  // of this backward, once it is known
  std::size_t next_launch_ = 0;
  int iterations_ = 0;    // synchronising forwards so far
  bool armed_ = false;    // hooks are listened to
  bool started_ = false;  // a gradient is ready, and its reduction is not finished
  bool marked_unused_ = false;
  bool walked_ = false;
  bool rebuilt_ = false;
  bool ran_ = false;
};

}  // namespace ringside
