// The training loop of one host thread: of a DDP rank, or of the one thread that drives single and
// dp.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ringside/data.h"
#include "ringside/scenario.h"
#include "ringside/strategy.h"
#include "ringside/trace.h"

namespace ringside {

/// What all loops of a run share. Read only while they run, but for the recorder, which is
/// thread-safe.
struct TrainingPlan {
  const Scenario& scenario;
  const TrainTest& data;
  Recorder* recorder;  ///< may be null
  const RunObserver& observer;
  int replicas;  ///< that share the permutation: the ranks of ddp, else 1
  std::int64_t batches_per_epoch;
  int epochs;
  int total_steps;
  std::chrono::steady_clock::time_point started;
};

/// What a loop leaves behind.
struct TrainingResult {
  std::vector<EpochReport> epochs;
  std::vector<double> step_losses;
  int steps = 0;
  std::string checksum;
  std::size_t parameters = 0;
  std::size_t parameter_bytes = 0;
  std::vector<TraceRun::Bucket> buckets;
  double first_step_seconds = 0;
};

class Trainer {
 public:
  /// `rank` is null for single and dp. `result` must outlive the trainer.
  Trainer(const TrainingPlan& plan, Strategy& strategy, const std::vector<Device*>& devices,
          Rank* rank, TrainingResult& result);
  /// Trains to the end. Throws Error; the result then has the model's facts.
  void run();

 private:
  void train();
  void note_model();
  bool run_epoch(int epoch);
  void run_step(const Batch& batch);
  StepDirectives apply_events();
  void apply(const ScenarioEvent& event, StepDirectives& directives);
  /// Whether this rank has such an event at this step.
  bool happens_here(ScenarioEvent::Kind kind) const;
  void finish_epoch(int epoch, double seconds);
  void evaluate(EpochReport& report);
  std::vector<double> summed_over_ranks(const std::vector<double>& own);
  int own_rank() const { return rank_ ? rank_->rank : 0; }

  const TrainingPlan& plan_;
  Strategy& strategy_;
  std::vector<Device*> devices_;
  Rank* rank_;
  TrainingResult& result_;
  int step_ = 0;
  double epoch_loss_ = 0;  // sum of loss times rows
  double epoch_rows_ = 0;
};

}  // namespace ringside
