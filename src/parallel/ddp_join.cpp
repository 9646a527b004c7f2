// Uneven inputs: ranks that have finished do what the others still do together, with nothing of
// their own. [torch/distributed/algorithms/join.py, nn/parallel/distributed.py, 1.13]
#include <fmt/format.h>

#include <string>

#include "parallel/coalesce.h"
#include "parallel/exchange.h"
#include "parallel/reducer.h"
#include "parallel/step_scope.h"
#include "parallel/tensors_of.h"
#include "ringside/ddp.h"
#include "ringside/error.h"

namespace ringside {
namespace {

/// Many shadowed iterations are a sign of inputs that are shared out badly.
constexpr int kManyIterations = 1000;

[[noreturn]] void throw_uneven(const std::string& message) {
  throw Error(ErrorKind::kTrainingFailed, message,
              "give all ranks the same number of batches, or join without "
              "throw_on_early_termination (--join initial)");
}

}  // namespace

void DistributedDataParallel::begin_join(const JoinOptions& options) {
  if (!rank_.device.executes()) {
    throw Error(ErrorKind::kUnavailable,
                fmt::format("join on {}: nothing executes there, so that no rank can know which "
                            "others have finished",
                            rank_.device.name()),
                "use --backend sim");
  }
  join_ = options;
}

/// A rank with a batch says so, and hears how many do. [join.py, notify_join_context]
void DistributedDataParallel::notify_join() {
  const StepScope phase({&rank_.device}, Phase::kSyncBuffers);
  const Tensor active = Tensor::full(rank_.device, Shape{1}, DType::kFloat64, 1,
                                     MemoryKind::kWorkspace, "active ranks");
  all_reduce_in_place(rank_, active).wait(rank_.device.compute());
  if (!join_->divide_by_initial_world_size) reducer_->divide_by(active);
  if (join_->throw_on_early_termination && sum_of_all(rank_, {0})[0] > 0) {
    throw_uneven("Detected at least one rank that exhausted inputs. Throwing across all ranks.");
  }
}

/// From rank 0; inside join from the highest rank that has a batch.
void DistributedDataParallel::sync_buffers(bool has_batch) {
  const StepScope phase({&rank_.device}, Phase::kSyncBuffers);
  const auto root =
      join_ ? static_cast<int>(largest_of_all(rank_, has_batch ? rank_.rank : -1)) : 0;
  broadcast_from(root, rank_, buffers_, kInitialSyncBytes);
}

/// [distributed.py, _DDPJoinHook.main_hook]
void DistributedDataParallel::shadow_iteration() {
  reducer_->prepare_forward();
  if (sends_buffers()) sync_buffers(/*has_batch=*/false);
  const bool others_synchronise = sum_of_all(rank_, {0})[0] > 0;
  require_forward_param_sync_ = others_synchronise;
  if (others_synchronise) reducer_->shadow_backward();
}

int DistributedDataParallel::end_join(const std::function<void(int)>& shadowing) {
  const StepScope phase({&rank_.device}, Phase::kSyncBuffers);
  int shadowed = 0;
  // Every iteration of the others begins with their count; this rank's belongs to the same one.
  const auto others_go_on = [&] {
    if (shadowing) shadowing(shadowed);
    return sum_of_all(rank_, {0})[0] > 0;
  };
  while (others_go_on()) {
    if (join_->throw_on_early_termination) {
      sum_of_all(rank_, {1});
      throw_uneven(fmt::format("Rank {} exhausted all inputs.", rank_.rank));
    }
    if (shadowed == kManyIterations) {
      warn(fmt::format(
          "Detected uneven input skew of greater than {0}. This means that this rank has at least "
          "{0} fewer inputs than other currently-active ranks. This level of skew could lead to "
          "performance degradation during training.",
          kManyIterations));
    }
    shadow_iteration();
    ++shadowed;
  }
  // The model of the last one to finish; of several, of the highest rank.
  const auto last = static_cast<int>(largest_of_all(rank_, shadowed == 0 ? rank_.rank : -1));
  broadcast_from(last, rank_, tensors_of(module_->named_parameters()), kInitialSyncBytes);
  broadcast_from(last, rank_, buffers_, kInitialSyncBytes);
  join_.reset();
  return shadowed;
}

}  // namespace ringside
