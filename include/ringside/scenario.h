// Scenario: everything a run can be, as one value; the TOML file and the command line both make one
// (docs/scenario.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/schedule.h"
#include "ringside/trace.h"

namespace ringside {

/// Something that happens to one rank at one step, for lessons and failure cases.
struct ScenarioEvent {
  enum class Kind : std::uint8_t {
    kPerturb,       ///< add `amount` to element 0 of parameter `parameter`, before the step
    kFreeze,        ///< parameter `parameter` no longer requires grad (every rank that is named)
    kStop,          ///< the rank leaves its training loop before the step (a rank that stops)
    kSlow,          ///< the rank's host sleeps `amount` milliseconds before the step
    kFewerBatches,  ///< the rank's loader ends `amount` batches early (every epoch)
    /// before the step the rank calls `operation` on one element, which the others do not
    kOtherCollective,
    /// forward through the bare module (dp.module(x), ddp.module(x)): dp computes on its home
    /// device alone, ddp does not synchronise gradients in this step
    kBypass,
    /// forward inside no_sync: gradients accumulate locally in this step, no update
    kNoSync,
    /// one more forward before the step (ddp: its buffers are synchronised once more)
    kExtraForward,
    /// parameter `parameter` is replaced by a new tensor of zeros that the strategy does not know
    kReplace,
    /// the model's second head takes no part in this step: its parameters get no gradient
    kUnusedHead,
    /// two forwards, then a backward of each loss: ddp reduces the first alone
    kSecondBackward,
    /// only the backward is inside no_sync: it is forward that decides, so that all is reduced
    kNoSyncBackward,
    /// dp: forward gets a keyword argument that is no tensor, which every device gets: one without
    /// rows is called without its input
    kFlagKeyword,
    /// dp: the optimiser was wrapped in DataParallel, too: its zero_grad does nothing, its step
    /// fails
    kWrapOptimizer,
    /// ddp: the rank builds the model `model`, not the scenario's
    kOtherModel,
    /// ddp: before the step, registers an all-reduce communication hook: an error if there is one
    kRegisterHook,
    /// ddp: a hook of the user's, behind DDP's, puts zeros in the place of the gradient of
    /// `parameter` as soon as it is there, which gradient_as_bucket_view does not stand
    kReplaceGradient,
    /// ddp: one more forward through the wrapper before the step, under no_grad: it takes rank 0's
    /// buffers, and the forward after it does not
    kNoGradForward,
    /// ddp: two forwards, then one backward of the sum of their losses: reduced once, as a whole
    kSummedLosses,
    /// dp: forward gets, and asks for, a keyword tensor of `amount` rows: replicas beyond its
    /// chunks are called without it
    kKeywordTensor,
    /// dp: forward gets a second tensor of `amount` rows: the one with fewer chunks decides how
    /// many replicas there are, and the rows of the batch beyond are dropped
    kSecondTensor,
    /// dp: forward gets nothing: the first replica is called without its input
    kNoArguments
  };
  Kind kind = Kind::kPerturb;
  int rank = 0;
  int step = 0;
  std::string parameter = {};
  double amount = 0;
  Operation operation = Operation::kBroadcast;
  std::string model = {};
};
/// "perturb", "freeze", "stop", "slow", "fewer-batches", "other-collective", "bypass", "no-sync",
/// "extra-forward", "replace", "unused-head", "second-backward", "no-sync-backward",
/// "flag-keyword", "wrap-optimizer", "other-model", "register-hook", "replace-gradient",
/// "no-grad-forward", "summed-losses", "keyword-tensor", "second-tensor",
/// "no-arguments".
std::string_view to_string(ScenarioEvent::Kind kind);
ScenarioEvent::Kind parse_event_kind(std::string_view name);

struct Scenario {
  std::string strategy = "ddp";
  std::string backend = "sim";
  int devices = 4;
  std::string model = "mlp:64,32,10";
  std::string data = "digits";
  /// global for single and dp, per rank for ddp, as in PyTorch; of each worker's device for ps
  std::int64_t batch_size = 64;
  std::optional<int> epochs;  ///< one of epochs and steps; both empty = 1 epoch
  std::optional<int> steps;
  std::string optimizer = "sgd";  ///< sgd, adam, adamw
  double lr = 0.1;
  double momentum = 0;        ///< sgd
  bool nesterov = false;      ///< sgd
  double beta1 = 0.9;         ///< adam, adamw
  double beta2 = 0.999;       ///< adam, adamw
  double epsilon = 1e-8;      ///< adam, adamw
  double weight_decay = 0;    ///< adamw: decoupled
  double clip_grad_norm = 0;  ///< largest total norm of the gradients; 0 = not clipped
  std::uint64_t seed = 0;
  DType dtype = DType::kFloat32;
  std::vector<int> device_ids;            ///< dp: in order, the first is home; ddp: one, the own
  std::optional<int> output_device;       ///< dp
  std::vector<std::int64_t> chunk_sizes;  ///< dp
  int dim = 0;  ///< dp: of every tensor, what is split and joined; -1 = its last
  std::optional<int> module_device;    ///< dp: where the module is built; empty = home
  std::string loss_in = "output";      ///< dp: "output" (of the gather) or "forward"
  std::string gathered_loss = "mean";  ///< dp, loss in forward: "mean" or "sum" of the losses
  /// dp: how the batch is handed over: "positional", "keyword", "tuple", "list", "dict",
  /// "namedtuple", "nested"
  std::string input_form = "positional";
  /// dp: what forward returns: "tensor", "tuple", "list", "dict", "namedtuple", "flat"
  std::string output_form = "tensor";
  double bucket_cap_mb = 25;             ///< ddp, MiB
  double first_bucket_mb = 1;            ///< ddp, MiB
  bool broadcast_buffers = true;         ///< ddp
  int workers = 3;                       ///< ps
  int servers = 1;                       ///< ps
  int worker_devices = 1;                ///< ps: of each worker
  int server_devices = 1;                ///< ps: of each server
  std::string variant = "b";             ///< ps: a, the workers update; b, the servers
  std::string server_op = "mean";        ///< ps: sum, mean
  bool asynchronous = false;             ///< ps
  int staleness = 1;                     ///< ps, asynchronous: steps ahead of the slowest
  bool find_unused_parameters = false;   ///< ddp
  bool static_graph = false;             ///< ddp
  bool gradient_as_bucket_view = false;  ///< ddp
  std::string comm_hook = "none";        ///< ddp: none, allreduce, fp16, bf16, sum
  std::string join = "off";              ///< ddp, uneven inputs: off, initial, active, throw
  bool sync_batchnorm = false;           ///< ddp
  bool set_to_none = true;               ///< not ps: zero_grad drops gradients, else zeroes them
  bool seed_per_rank = false;            ///< ddp: rank r initialises its model with seed + r
  std::int64_t accumulate = 1;           ///< ddp: micro batches of a step
  bool no_sync = true;                   ///< ddp, accumulate: on all micro batches but the last
  bool divide_loss = true;               ///< ddp, accumulate: by the number of micro batches
  std::string frozen;                    ///< parameters without gradients, separated by commas
  Algorithm algorithm = Algorithm::kAutomatic;
  Direction direction = Direction::kUp;
  Border border = Border::kNccl;
  int pieces = 1;          ///< of chain and double tree
  int node_size = 0;       ///< of the hierarchical algorithm; 0: chosen (schedule.h)
  std::size_t memory = 0;  ///< bytes per device; 0 = unlimited
  /// bytes of each device in order, instead of memory; empty = all alike
  std::vector<std::size_t> device_memory;
  int loader_workers = 0;
  bool pin_memory = false;
  bool non_blocking = false;
  bool shuffle = true;
  int sim_workers = 0;  ///< worker threads; 0 = one per core
  bool stepwise = false;
  // checkpoints, docs/checkpoints.md
  std::string save;           ///< file, "{step}" in it is the step; empty = none
  int save_every = 0;         ///< steps; 0 = at the end alone
  bool save_wrapped = false;  ///< dp, ddp: keys as the wrapper's state_dict has them, "module."
  std::string resume;         ///< a checkpoint to go on from
  std::string load;           ///< a file whose values a new training begins with
  std::string strip_prefix;   ///< of the file's keys; these three are empty = none
  std::string add_prefix;
  std::string rename_prefix;  ///< "from.=to.,..."
  bool verify = false;        ///< look for silent faults after every step
  /// verify: after it, compare with a single device; none: the first, where one can have the same
  std::optional<int> verify_step;
  std::vector<ScenarioEvent> events;

  /// Throws Error(kInvalidArgument) naming the option, its value, the allowed values, and what to
  /// do.
  void validate() const;
  /// Whether every rank has a training loop of its own (ddp, ps), not one thread all of them.
  bool has_ranks() const;
  /// Training loops that share the rows of an epoch: ddp's ranks, the workers' devices of ps, else
  /// 1. Ranks from this number on are servers.
  int replicas() const;
};

/// Training steps of one run at most: the loss of every step is kept.
inline constexpr int kMaxSteps = 1'000'000;

/// What a run reports.
struct EpochReport {
  int epoch = 0;
  double loss = 0;  ///< mean over samples seen
  double test_loss = 0;
  double test_accuracy = 0;
  double seconds = 0;
};
/// What Scenario::verify has compared, where it found no fault.
struct Verification {
  int steps = 0;             ///< after which every rank had the same parameters
  int ranks = 1;             ///< that were compared; 1: there was nothing to compare between ranks
  int single_step = -1;      ///< after which they were those of a single device; -1: not compared
  std::string not_compared;  ///< why not; empty if they were
  /// from the single device's, relative to the largest gradient (or parameter) of the model
  double largest_difference = 0;
  std::string parameter;  ///< in which it was; empty: there is no difference
};
/// What a model that counts its forwards ("mlp:64,32,10:counted") has counted.
struct CountedCalls {
  std::int64_t attribute = 0;  ///< in this run: self.calls += 1
  std::int64_t buffer = 0;     ///< also in the run that a checkpoint is from
  bool operator==(const CountedCalls&) const = default;
};
struct RunReport {
  Scenario scenario;
  bool primary = true;  ///< false in the mpi processes that do not hold rank 0: they print nothing
  std::vector<EpochReport> epochs;
  std::vector<double> step_losses;  ///< mean over ranks, per step, from first_step on
  int steps = 0;                    ///< done in all, with those before the checkpoint
  int first_step = 0;               ///< of this run: the steps of the checkpoint it resumed
  std::vector<std::string> saved;   ///< checkpoints written, in order
  /// 16 hex digits over all final parameters and buffers of rank 0; empty on meta
  std::string checksum;
  std::vector<std::string> rank_checksums;  ///< per rank
  /// Per rank, without buffers: DDP's must agree, while each rank has running statistics of its own
  std::vector<std::string> rank_parameter_checksums;
  std::optional<CountedCalls> counted_calls;  ///< rank 0's, at the end
  std::vector<MemoryAccount> memory;          ///< per device, at the end (with peaks)
  std::size_t parameters = 0;
  std::size_t parameter_bytes = 0;
  std::optional<Verification> verification;  ///< with Scenario::verify
  std::vector<std::string> warnings;         ///< PyTorch's, in order, each once
  double first_step_seconds = 0;             ///< from the call until the first step has ended
  double seconds = 0;
};

/// Called on some thread after each step and epoch; must be quick. Any member may be empty.
struct RunObserver {
  std::function<void(int step, int total_steps, double loss)> step;
  std::function<void(const EpochReport&)> epoch;
  std::function<void(const std::string& text)> warning;  ///< at once, each text once
};

/// Runs the scenario on its backend. `trace` (may be null) receives what `trace_options` selects;
/// if the run fails after training was prepared, what had happened until then (on mpi in the
/// process of rank 0). Throws Error. Lives in src/parallel; the backend is reached through the
/// registry by the function `open` (open_world).
RunReport run_scenario(const Scenario& scenario, const TraceOptions& trace_options, Trace* trace,
                       const RunObserver& observer);

}  // namespace ringside
