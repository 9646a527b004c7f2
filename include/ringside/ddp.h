// torch.nn.parallel.DistributedDataParallel as a module's wrapper: each rank a full replica, the
// gradients averaged in buckets while backward runs.
//
// The wrapper has no loss and no optimiser: a training loop written against it reads like one in
// PyTorch. make_ddp (strategy.h) is the ready-made one. Every call is collective in PyTorch's
// sense: ranks that call in another order meet in the wrong collectives, which the communicator
// reports. Threads: the rank's own. [torch/nn/parallel/distributed.py, torch/csrc/distributed/c10d/
// reducer.cpp, 1.13]
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringside/error.h"
#include "ringside/nn.h"
#include "ringside/trace.h"
#include "ringside/world.h"

namespace ringside {

/// A bucket as a communication hook sees it. Gradients are not divided by the world size: the hook
/// must.
struct GradientBucket {
  int index = 0;
  bool is_last = false;
  Tensor values;                   ///< flat; the hook may write to it
  std::vector<Tensor> gradients;   ///< its parts, in the shapes of the parameters
  std::vector<Tensor> parameters;  ///< in the same order
};

/// What a hook gives back: one tensor of the bucket's size and dtype (the bucket itself, or
/// another), and the work after which it holds.
struct ReducedBucket {
  Tensor values;
  Work work;
};

/// Called when a bucket is launched; enqueues, and does not wait. All ranks must enqueue the same
/// collectives. [torch/distributed/algorithms/ddp_comm_hooks]
using CommunicationHook = std::function<ReducedBucket(const GradientBucket& bucket, Rank& rank)>;

/// Divides the bucket by the world size, then sums: a true division, unlike the built-in path,
/// which multiplies by the reciprocal. [default_hooks.py, allreduce_hook]
CommunicationHook all_reduce_hook(Algorithm algorithm = Algorithm::kAutomatic);
/// Casts to float16, divides there, sums there, casts back: half the bytes, and 0.1 and 0.2 average
/// to 0.14990234375. [default_hooks.py, fp16_compress_hook]
CommunicationHook fp16_compress_hook(Algorithm algorithm = Algorithm::kAutomatic);
/// The same in bfloat16. [default_hooks.py, bf16_compress_hook]
CommunicationHook bf16_compress_hook(Algorithm algorithm = Algorithm::kAutomatic);

/// An all-reduce (sum) of `tensor` in place, enqueued behind what the rank's compute stream has
/// done so far: what hooks are made of.
Work all_reduce_in_place(const Rank& rank, const Tensor& tensor,
                         Algorithm algorithm = Algorithm::kAutomatic);

/// Makes every batch normalisation of `module` a SyncBatchNorm over the ranks of `rank`'s
/// communicator; returns how many. PyTorch has it for GPUs only, where the simulated devices stand.
/// [torch.nn.SyncBatchNorm.convert_sync_batchnorm]
int convert_sync_batchnorm(Module& module, const Rank& rank);

/// The arguments of DistributedDataParallel.
struct DdpWrapperOptions {
  /// empty (PyTorch's None), or this rank's device alone
  std::vector<int> device_ids;
  std::size_t bucket_cap_bytes = 25 * 1024 * 1024;  ///< bucket_cap_mb: a threshold, not a maximum
  std::size_t first_bucket_bytes = 1024 * 1024;     ///< _DEFAULT_FIRST_BUCKET_BYTES
  bool broadcast_buffers = true;
  /// walk the graph from the output after every forward: parameters that it does not reach count as
  /// ready, those that no rank used keep their gradients untouched
  bool find_unused_parameters = false;
  /// the first iteration, which communicates at its end, tells which parameters are used and how
  /// often; later ones must do the same
  bool static_graph = false;
  /// gradients are views into the buckets from the first reduction on: no copy back, and no second
  /// copy of all gradients as long as they are zeroed in place
  bool gradient_as_bucket_view = false;
  Algorithm algorithm = Algorithm::kAutomatic;  ///< of the buckets' all-reduce
  CommunicationHook communication_hook;         ///< empty: the built-in mean
  /// Hears what PyTorch would warn of, on the rank's thread; may be empty.
  std::function<void(const std::string&)> warn;
};

/// Uneven inputs. [torch/distributed/algorithms/join.py]
struct JoinOptions {
  /// gradients are divided by the world size, so that a late batch counts 1/W; else by the number
  /// of ranks that still have batches
  bool divide_by_initial_world_size = true;
  /// all ranks throw as soon as one has no batch left
  bool throw_on_early_termination = false;
};

/// The parameters of each bucket, without "module.".
using BucketNames = std::vector<std::vector<std::string>>;

class Reducer;

class DistributedDataParallel {
 public:
  /// Checks that all ranks have the same parameters, then broadcasts rank 0's parameters and
  /// buffers. Throws PyTorch's errors: no parameter requires grad; more than one device id;
  /// different numbers or shapes of parameters (both sides shown).
  DistributedDataParallel(std::shared_ptr<Module> module, Rank& rank,
                          const DdpWrapperOptions& options = {});
  ~DistributedDataParallel();
  DistributedDataParallel(const DistributedDataParallel&) = delete;
  DistributedDataParallel& operator=(const DistributedDataParallel&) = delete;

  /// Rank 0's buffers to all if that is due, then the module's forward. Throws PyTorch's error if
  /// the reduction of the previous iteration is unfinished: a parameter got no gradient there.
  Tensor forward(const Tensor& input);
  /// Runs the graph of `loss` backwards; the buckets are reduced on the way, and waited for and
  /// copied back at the end, if the forward was one that synchronises.
  void backward(const Tensor& loss);
  /// Throws the error that the next forward would throw.
  void check_reduced() const;

  /// While it lives, forward prepares no synchronisation: the backwards of such forwards only
  /// accumulate gradients. What matters is where **forward** was called.
  class NoSync {
   public:
    explicit NoSync(DistributedDataParallel& ddp) : ddp_(ddp), before_(ddp.synchronise_) {
      ddp_.synchronise_ = false;
    }
    ~NoSync() { ddp_.synchronise_ = before_; }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DistributedDataParallel& ddp_;
    bool before_;
  };

  /// Throws Error(kInvalidArgument) if there is a hook. After the first backward it is used from
  /// the next one on, and the wrapper warns of it.
  void register_communication_hook(CommunicationHook hook);

  /// From here to end_join this rank may have more or fewer batches than others. Throws
  /// Error(kUnavailable) on a backend that does not execute: ranks would not know who has finished.
  void begin_join(const JoinOptions& options);
  /// This rank has no batch left: shadows the collectives of the others until none has, then takes
  /// over the model of the last one. Returns how many iterations it shadowed; `shadowing`, if
  /// given, is called before each with its number, and once more before it is known that none is
  /// left. Throws with throw_on_early_termination.
  int end_join(const std::function<void(int)>& shadowing = {});

  Module& module() { return *module_; }
  const Module& module() const { return *module_; }
  Rank& rank() { return rank_; }
  /// As used from the next forward on.
  std::vector<TraceRun::Bucket> buckets() const;
  /// For a checkpoint: the buckets of the next iteration, which may be due to rebuild them.
  BucketNames next_buckets() const;
  /// Of a resumed training, before its first forward: these and no others from now on. Throws
  /// Error(kInvalidInput) unless each parameter that requires grad is in exactly one of them, none
  /// is empty, and the parameters of each are of one dtype.
  void restore_buckets(const BucketNames& buckets);

 private:
  void warn(const std::string& text) const;
  bool sends_buffers() const;
  /// `has_batch`: this rank may be the source.
  void sync_buffers(bool has_batch);
  void notify_join();
  void shadow_iteration();
  /// The error, with the parameter that was replaced or frozen if one was.
  Error explain_changed(const Error& error) const;

  std::shared_ptr<Module> module_;
  Rank rank_;
  DdpWrapperOptions options_;
  std::vector<NamedTensor> wrapped_;  // the parameters that the reducer knows
  std::vector<Tensor> buffers_;
  std::unique_ptr<Reducer> reducer_;
  std::optional<JoinOptions> join_;
  bool warned_of_walk_ = false;
  bool synchronise_ = true;                 // false inside NoSync
  bool require_forward_param_sync_ = true;  // the next forward broadcasts buffers
};

}  // namespace ringside
