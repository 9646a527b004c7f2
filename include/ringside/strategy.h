// Strategy: how a training step is spread over the ranks of a world. single, DataParallel,
// DistributedDataParallel, parameter server.
//
// A strategy never asks which backend it is on. single and dp have one object, used by the one
// driving thread (World::drive); ddp and ps have one object per rank, used by that rank's thread
// (World::run).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/data.h"
#include "ringside/data_parallel.h"
#include "ringside/ddp.h"
#include "ringside/nn.h"
#include "ringside/optim.h"
#include "ringside/trace.h"
#include "ringside/world.h"

namespace ringside {

/// loss(output, targets) -> scalar tensor {1}.
using LossFunction = std::function<Tensor(const Tensor& output, const Tensor& targets)>;

/// What one training step returns. The loss is a device tensor: read it with host_value when
/// needed.
struct StepResult {
  Tensor loss;  ///< undefined of a rank that takes no batches
  std::int64_t rows = 0;
};

/// What is out of the ordinary in one step or micro batch (the events of a Scenario, accumulation).
struct StepDirectives {
  /// forward through the bare module, dp.module(x) or ddp.module(x): dp uses its home device only,
  /// ddp synchronises nothing
  bool bypass = false;
  bool no_sync = false;  ///< ddp: forward (and backward) inside no_sync
  /// ddp: only the backward is inside no_sync, which changes nothing: forward decides
  bool no_sync_backward = false;
  int extra_forwards = 0;  ///< forwards without backward before the step
  /// ddp: two forwards, then a backward of each loss: the second is not reduced
  bool second_backward = false;
  /// ddp: two forwards, then one backward of the sum of their losses: reduced once
  bool summed_losses = false;
  int no_grad_forwards = 0;    ///< ddp: through the wrapper, under no_grad, before the step
  bool register_hook = false;  ///< ddp: all_reduce_hook becomes the communication hook
  /// ddp: parameters whose gradient becomes zeros, another tensor, as soon as it is there
  std::vector<std::string> replaced_gradients = {};
  /// another micro batch follows: gradients are kept and added to, no update
  bool accumulate = false;
  double loss_factor = 1;  ///< the loss times this goes backward; the result has the loss itself
  /// dp: forward gets a keyword argument that is no tensor: model(x, flag=True)
  bool flag_keyword = false;
  /// dp: forward gets a keyword argument that is a tensor of so many rows, and asks for it:
  /// model(x, extra=tensor)
  std::int64_t keyword_rows = 0;
  /// dp: forward gets a second tensor of so many rows, of which it makes nothing: model(x, tensor)
  std::int64_t second_rows = 0;
  bool no_arguments = false;  ///< dp: forward gets nothing at all: model()
  /// dp: the optimiser was wrapped, DataParallel(optimizer): its zero_grad does nothing, its step
  /// fails
  bool wrapped_optimizer = false;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// "single", "dp", "ddp", "ps".
  virtual std::string_view name() const = 0;
  /// One training step: forward, loss, backward, communication, update. `step` is stamped on the
  /// recorded ops.
  virtual StepResult train_step(const Batch& batch, int step,
                                const StepDirectives& directives = {}) = 0;
  /// Forward in evaluation mode, without gradients; outputs on the output device.
  virtual Tensor evaluate(const Batch& batch) = 0;
  /// The device batches are loaded to.
  virtual Device& input_device() = 0;
  /// Parameters and buffers; with the prefix "module." for dp and ddp, as in PyTorch.
  virtual std::vector<NamedTensor> state_dict() const = 0;
  /// What these names, and those of the optimiser, have in front of the module's own.
  virtual std::string_view key_prefix() const { return {}; }
  virtual Module& module() = 0;
  virtual Optimizer& optimizer() = 0;
  /// For a checkpoint: what all optimisers of the run have kept, under the module's own names,
  /// complete on rank 0. Every rank calls it. Blocks the host.
  virtual std::vector<NamedTensor> optimizer_state();
  /// Of a resumed training: takes its part of such a state over. Throws Error(kInvalidInput) for
  /// one that does not fit, and then changes nothing.
  virtual void load_optimizer_state(const std::vector<NamedTensor>& state);
  /// Throws what the next step would complain of: of ddp, gradients that were not reduced.
  virtual void check_step() const {}
  /// A rank without further batches in this epoch: ddp inside join takes part in what the others
  /// still do, from step `step` on, until all have finished. Returns how many steps that were.
  virtual int inputs_exhausted(int /*step*/) { return 0; }
  /// DDP's buckets as used from the next step on; empty for others.
  virtual std::vector<TraceRun::Bucket> buckets() const { return {}; }
  /// For a checkpoint: DDP's buckets of the next step, whose gradients may be due to be rebuilt by
  /// then; empty for others.
  virtual BucketNames next_buckets() const { return {}; }
  /// Of a resumed training, before its first step: these and no others from now on. Throws
  /// Error(kInvalidInput) unless each parameter that requires grad is in one of them.
  virtual void restore_buckets(const BucketNames& /*buckets*/) {}

  /// False for a rank that trains nothing itself (a parameter server): its train_step gets an empty
  /// batch.
  virtual bool takes_batches() const { return true; }
  /// Before the first of the `steps` steps of an epoch; every rank calls it with the same numbers.
  virtual void begin_epoch(int epoch, int steps) {
    static_cast<void>(epoch);
    static_cast<void>(steps);
  }
  /// After the last step of an epoch, and before a checkpoint, on every rank: brings the module to
  /// what has been learnt so far, for evaluation and for state_dict.
  virtual void end_epoch() {}
};

/// Makes an optimiser for the parameters it is given.
using OptimizerFactory = std::function<std::unique_ptr<Optimizer>(std::vector<NamedTensor>)>;

struct SingleOptions {
  LossFunction loss;
  OptimizerFactory optimizer;
  bool set_to_none = true;  ///< zero_grad: none (PyTorch 2), or zeros (1.13)
};
std::unique_ptr<Strategy> make_single(std::shared_ptr<Module> module, World& world, int device,
                                      const SingleOptions& options);

/// Where DataParallel's loss is computed: on the output device from the gathered output, or by each
/// replica from its own rows, as the last thing of its forward.
enum class LossPlace : std::uint8_t { kOutput, kForward };
/// What the script makes of the losses that the replicas' forwards returned.
enum class LossReduction : std::uint8_t { kMean, kSum };
/// How the script hands the batch to DataParallel: model(x), model(input=x), model((x,)),
/// model([x]), model({"input": x}), model(Batch(input=x)), model([{"input": x}]). Where the loss is
/// in forward, the targets go with x, as `target`.
enum class InputForm : std::uint8_t {
  kPositional,
  kKeyword,
  kTuple,
  kList,
  kDict,
  kNamedTuple,
  kNested
};
/// What the module's forward returns: y, (y, None), [y, None], {"logits": y, "attentions": None},
/// Output(logits=y, attentions=None), or all of y in one row. Where the loss is in forward it comes
/// first, and y after it in containers alone.
enum class OutputForm : std::uint8_t { kTensor, kTuple, kList, kDict, kNamedTuple, kFlat };

/// What the script around torch.nn.DataParallel does.
struct DataParallelTrainingOptions {
  LossFunction loss;
  OptimizerFactory optimizer;
  LossPlace loss_in = LossPlace::kOutput;
  LossReduction gathered_losses = LossReduction::kMean;  ///< with LossPlace::kForward
  InputForm input_form = InputForm::kPositional;
  OutputForm output_form = OutputForm::kTensor;
  bool set_to_none = true;  ///< zero_grad: none, or zeros (1.13)
};
/// Trains `module` in a DataParallel. Throws as its constructor (data_parallel.h).
std::unique_ptr<Strategy> make_data_parallel(std::shared_ptr<Module> module, World& world,
                                             const DataParallelOptions& options,
                                             const DataParallelTrainingOptions& training);

/// DistributedDataParallel as a strategy: the wrapper of ddp.h with a loss and an optimiser.
struct DdpOptions : DdpWrapperOptions {
  /// uneven inputs: every step runs inside `join`, which ends with Strategy::inputs_exhausted
  std::optional<JoinOptions> join;
  bool set_to_none = true;  ///< zero_grad: none (PyTorch 2), or zeros (1.13), which views need
  LossFunction loss;
  OptimizerFactory optimizer;
};
/// Collective; checks and throws as the wrapper's constructor does.
std::unique_ptr<Strategy> make_ddp(std::shared_ptr<Module> module, Rank& rank,
                                   const DdpOptions& options);

/// Workers with their own rows and full replicas, and servers that add up their gradients.
///
/// Ranks: the workers' devices first, worker by worker, then the servers'. The first device of each
/// is its lead, which talks to the others. A server keeps a range of the flat parameters, of equal
/// bytes for all servers. A step with `server_updates` (variant b): pull weights, forward, loss,
/// backward, push gradients, aggregate, update on the server; else (variant a): forward, loss,
/// backward, push, aggregate, pull gradients, update on every worker. Buffers stay where they are.
struct ParameterServerOptions {
  int workers = 3;
  int servers = 1;
  int worker_devices = 1;      ///< of each worker; their gradients are added on the first one
  int server_devices = 1;      ///< of each server; device k adds up the workers k, k + devices, ...
  bool server_updates = true;  ///< only the servers have an optimiser, then
  bool mean = true;            ///< servers divide by the number of worker devices; else they sum
  /// Every push is applied at once, by itself, in an order that is a function of `seed` and epoch.
  /// Needs server_updates and server_devices = 1.
  bool asynchronous = false;
  int staleness = 1;  ///< asynchronous: steps a worker may be ahead of the slowest at most
  std::uint64_t seed = 0;
  /// asynchronous: the most steps that each worker takes in an epoch; empty: as many as there are
  std::vector<int> worker_steps = {};
  /// Of servers that update: before an update the gradients are scaled so that their total 2-norm,
  /// over all servers, is at most this; 0: they are not. `optimizer` then has not to.
  double clip_grad_norm = 0;
  LossFunction loss;
  OptimizerFactory optimizer;

  int replicas() const { return workers * worker_devices; }
  int ranks() const { return replicas() + servers * server_devices; }
};
/// The strategy of one rank. A server's module is for the names and shapes of the parameters only
/// (its device may be of a meta world). Initially all workers get worker 0's parameters, without
/// those that require no gradient: they are neither sent nor updated. Throws
/// Error(kInvalidArgument) for counts below 1, a world of another size than options.ranks(), more
/// devices of a server than workers, a negative staleness or norm, steps of another number of
/// workers, more servers than the model has parameters, parameters of several dtypes, and options
/// that exclude each other.
std::unique_ptr<Strategy> make_parameter_server(std::shared_ptr<Module> module, Rank& rank,
                                                const ParameterServerOptions& options);

/// What the assignment to buckets knows of a tensor.
struct BucketedTensor {
  std::size_t bytes = 0;
  DType dtype = DType::kFloat32;
  int device = 0;
  bool sparse = false;  ///< has sparse gradients
};
struct BucketAssignment {
  std::vector<std::vector<std::size_t>> buckets;  ///< of indices
  std::vector<std::size_t> limits;  ///< that applied to each bucket; 0 of a sparse one
};
/// torch.distributed._compute_bucket_assignment_by_size [reducer.cpp]: for each dtype and device,
/// append first, close at >= limit, move to the next limit, stay on the last; a sparse tensor has a
/// bucket of its own. Without `indices` tensor i is number i, and buckets are in the order of their
/// smallest number. With `indices` (one per tensor: what number it has) the tensors come in the
/// order in which their gradients got ready, and buckets are in the order in which they closed.
/// Throws Error(kInvalidArgument) for no limits or another number of indices.
BucketAssignment assign_buckets(const std::vector<BucketedTensor>& tensors,
                                const std::vector<std::size_t>& limits,
                                const std::vector<std::size_t>& indices = {});
/// Of tensors of one dtype on one device, none sparse.
BucketAssignment assign_buckets(const std::vector<std::size_t>& tensor_bytes,
                                const std::vector<std::size_t>& limits);

}  // namespace ringside
