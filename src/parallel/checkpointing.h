// Between a training and its checkpoint: a file's values into a model and an optimiser, and back.
//
// A file has the model's tensors under the names of its state_dict (with "module." in front where
// the wrapper's is wanted), and behind "optimizer." the optimiser's under the same names. Threads:
// a StartingPoint is read by all ranks, and changed by none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/state_keys.h"
#include "parallel/training_state.h"
#include "ringside/checkpoint.h"
#include "ringside/strategy.h"

namespace ringside {

/// What a training begins with instead of a new model.
struct StartingPoint {
  std::string path;
  SafetensorsFile file;
  std::string renaming;                     ///< as options, "--strip-prefix module."; empty: none
  std::string rename_prefix;                ///< the last of them, as asked
  std::vector<NamedShape> as_written;       ///< the model's, before they were renamed
  std::vector<SafetensorsEntry> model;      ///< renamed as asked
  std::vector<SafetensorsEntry> optimizer;  ///< so too, without "optimizer."; of a resumed training
  std::optional<TrainingState> state;       ///< of a resumed training
};

/// The file that the scenario resumes or loads; none if it does neither. Throws
/// Error(kInvalidInput) for a bad file, one without a training's state where it is resumed, or of
/// another training.
std::optional<StartingPoint> read_starting_point(const Scenario& scenario);

/// Compares keys, shapes and dtypes with `module`'s, of any device, and of the optimiser's entries
/// the parameters that they are of. Throws Error(kInvalidInput) that lists what is missing,
/// unexpected or of another shape, and offers the prefix that would mend it.
void check_fits(const StartingPoint& start, const Module& module);

/// The values into the module, of which check_fits() has approved.
void load_model(const StartingPoint& start, Module& module);

/// The optimiser's state into the strategy's. Throws Error(kInvalidInput) for one that does not
/// fit, and then changes nothing.
void load_optimizer(const StartingPoint& start, Strategy& strategy);

/// DDP's buckets. Throws Error(kInvalidInput) for others than the model's.
void restore_buckets(const StartingPoint& start, Strategy& strategy);

/// `scenario.save` with the step for "{step}".
std::string checkpoint_path(const Scenario& scenario, std::int64_t step);

/// Writes the file; blocks the host.
void save_checkpoint(const Scenario& scenario, const TrainingState& state, const Module& module,
                     const std::vector<NamedTensor>& optimizer_state, const std::string& path);

/// Whether a checkpoint is due after `step` steps of `total`.
bool checkpoint_is_due(const Scenario& scenario, std::int64_t step, std::int64_t total);

/// Throws Error(kInvalidArgument) where a checkpoint would be due after a step inside no_sync,
/// whose gradients no file holds, or within an epoch of asynchronous pushes.
void check_checkpoints_fall_between_updates(const Scenario& scenario, std::int64_t total,
                                            std::int64_t steps_per_epoch);

}  // namespace ringside
