// DDP's reducer: gradients into buckets, buckets all-reduced while backward still runs, results
// back into the gradients.
//
// The rules are c10d's [torch/csrc/distributed/c10d/reducer.cpp, 1.13]: the first iteration has one
// bucket (limit infinity, parameters in registration order); at the second synchronising forward
// the buckets are rebuilt in rank 0's gradient-ready order with the limits [first bucket, cap]. A
// gradient is multiplied by 1/W while it is copied into its bucket, then summed. Buckets are
// launched strictly in order. Left out: find_unused_parameters, static_graph, communication hooks,
// gradient_as_bucket_view, several dtypes. Threads: the rank's own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "parallel/coalesce.h"
#include "ringside/strategy.h"

namespace ringside {

class Reducer {
 public:
  /// Hooks the parameters that require grad. `parameters` in registration order.
  Reducer(std::vector<NamedTensor> parameters, Rank& rank, const DdpOptions& options);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Before a synchronising forward: throws PyTorch's error if the previous backward left gradients
  /// unreduced, rebuilds the buckets if that is due, and arms the hooks.
  void prepare();
  /// Before a forward that does not synchronise (no_sync, bypass): gradients only accumulate.
  void disarm() { armed_ = false; }
  /// After the last node of backward: every bucket in order is waited for (by the compute stream)
  /// and copied back into the gradients. Does nothing if some bucket was never launched.
  void finish();

  std::vector<TraceRun::Bucket> buckets() const;
  /// Strategy's functions of these names.
  BucketNames next_buckets() const;
  void restore_buckets(const BucketNames& buckets);

 private:
  struct Bucket {
    std::vector<std::size_t> parameters;
    FlatBuffer gradients;
    std::size_t pending = 0;  // gradients that have not come yet
    Work work;
  };
  struct Place {
    std::size_t bucket;
    std::size_t position;
  };

  void make_buckets(const std::vector<std::vector<std::size_t>>& assignment);
  void rebuild();
  /// The buckets of parameters in this order of readiness.
  std::vector<std::vector<std::size_t>> assignment_of(const std::vector<std::int64_t>& order) const;
  void gradient_ready(std::size_t parameter);
  void launch_ready_buckets();
  void launch(std::size_t index);
  void check_finished() const;

  std::vector<NamedTensor> parameters_;
  Rank& rank_;
  DdpOptions options_;
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;             // of each parameter
  std::vector<bool> ready_;               // of each parameter, in this iteration
  std::vector<std::size_t> ready_order_;  // of the first iteration
  std::size_t next_launch_ = 0;
  bool armed_ = false;
  bool started_ = false;  // a hook has fired since prepare()
  bool finished_ = true;
  bool rebuilt_ = false;
};

}  // namespace ringside
