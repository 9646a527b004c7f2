// The training loop of one host thread: of a rank of ddp or ps, or of the one thread that drives
// single and dp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallel/checkpointing.h"
#include "parallel/single_device.h"
#include "parallel/warnings.h"
#include "ringside/data.h"
#include "ringside/scenario.h"
#include "ringside/strategy.h"
#include "ringside/trace.h"

namespace ringside {

/// Of a model's parameters.
struct ModelSize {
  std::size_t parameters = 0;  ///< elements
  std::size_t bytes = 0;
};

/// What all loops of a run share. Read only while they run, but for the recorder, which is
/// thread-safe.
struct TrainingPlan {
  const Scenario& scenario;
  const TrainTest& data;
  Recorder* recorder;  ///< may be null
  const RunObserver& observer;
  int replicas;  ///< that share the permutation: Scenario::replicas()
  std::int64_t batches_per_epoch;
  int epochs;
  int total_steps;
  std::chrono::steady_clock::time_point started;
  ModelSize model;
  Warnings* warnings = nullptr;          ///< PyTorch's; set before the training
  const StartingPoint* start = nullptr;  ///< null: a new model
  std::string data_checksum = {};        ///< of a training that is saved or resumed
  SingleDevice single_device = {};       ///< with Scenario::verify

  /// Where the training begins: after these steps, epochs and batches.
  const TrainingState& first() const {
    static const TrainingState kNewTraining;
    return start && start->state ? *start->state : kNewTraining;
  }
};

/// What a loop leaves behind.
struct TrainingResult {
  std::vector<EpochReport> epochs;
  std::vector<double> step_losses;
  int steps = 0;
  std::string checksum;
  std::string parameter_checksum;
  std::optional<CountedCalls> counted_calls;
  std::vector<TraceRun::Bucket> buckets;
  Verification verification;
  double first_step_seconds = 0;
  std::vector<std::string> saved;
  bool stopped = false;         ///< the rank left its loop before step `steps`
  bool out_of_batches = false;  ///< the rank has gone through the epoch that it is in
};

class Trainer {
 public:
  /// `rank` is null for single and dp. `result` must outlive the trainer.
  Trainer(const TrainingPlan& plan, Strategy& strategy, const std::vector<Device*>& devices,
          Rank* rank, TrainingResult& result);
  /// Trains to the end. Throws Error; the result then has the buckets and the finished steps.
  void run();

 private:
  void train();
  /// The state of what a checkpoint has besides the model's values.
  void restore();
  std::vector<std::int64_t> indices_of_epoch(int epoch) const;
  std::unique_ptr<Loader> open_loader(int epoch) const;
  bool run_epoch(int epoch);
  /// The step that begins with `batch` and takes `micro_batches` in all, the others of `loader`,
  /// which is null of a rank that takes none.
  void run_step(Batch batch, Loader* loader, std::int64_t micro_batches);
  /// One forward and backward, and the update if no other batch follows. Returns the mean loss.
  double run_micro_batch(const Batch& batch, const StepDirectives& directives);
  double loss_of(const StepResult& step);
  StepDirectives apply_events();
  void apply(const ScenarioEvent& event, StepDirectives& directives);
  /// Whether this rank has such an event at this step.
  bool happens_here(ScenarioEvent::Kind kind) const;
  void finish_epoch(int epoch, double seconds);
  void evaluate(EpochReport& report);
  void save_if_due(bool all_ranks_have_ended);
  void warn_of_values_that_differ();
  int end_of_longest() const;
  void warn_of_buffers_that_differ();
  void warn_of_updates_that_differ();
  std::vector<int> ranks_at_work() const;
  /// What `ranks` have after `step`, and rank 0 with a single device; every rank calls it, of those
  /// that take batches only `ranks` do.
  void verify(const std::vector<int>& ranks, int step);
  std::vector<double> summed_over_ranks(const std::vector<double>& own);
  int own_rank() const { return rank_ ? rank_->rank : 0; }

  const TrainingPlan& plan_;
  Strategy& strategy_;
  std::vector<Device*> devices_;
  Rank* rank_;
  TrainingResult& result_;
  std::vector<double> steps_taken_;  // per step: 1 where this rank took it
  int step_ = 0;
  int asked_until_ = 0;   // steps after which it is known whether a checkpoint was due
  int saved_after_ = -1;  // steps
  int epoch_ = 0;
  std::int64_t batches_ = 0;  // of this epoch, trained on by this rank or, inside join, by others
  double epoch_loss_ = 0;     // sum of loss times rows
  double epoch_rows_ = 0;
};

}  // namespace ringside
