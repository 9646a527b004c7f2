// What a checkpoint says of the training it was taken from: as texts in the file's metadata.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/checkpoint.h"
#include "ringside/scenario.h"
#include "ringside/strategy.h"

namespace ringside {

/// Where a training stands between two steps. Every random number is a function of the seed, the
/// device, the step and the draw within it, and the order of the samples of the seed and the
/// epoch: so that seed and place are the random state.
struct TrainingState {
  std::int64_t step = 0;     ///< steps done
  std::int64_t epoch = 0;    ///< of the next batch: the sampler's
  std::int64_t batches = 0;  ///< of that epoch that each rank has trained on
  /// DDP's, of the next step: which elements lie together decides in which order they are added
  BucketNames buckets;
  std::string data;  ///< checksum of the data set, whose file may change; empty: not known
};

/// Over all samples, targets and texts.
std::string checksum_of(const TrainTest& data);

/// "ringside.step", "ringside.epoch", "ringside.batches", "ringside.buckets", "ringside.data", and
/// for every option that the numbers depend on "ringside.option.NAME"; docs/checkpoints.md lists
/// them.
SafetensorsMetadata to_metadata(const Scenario& scenario, const TrainingState& state);

/// In front of the names of the optimiser's tensors.
inline constexpr std::string_view kOptimizerPrefix = "optimizer.";

bool has_training_state(const SafetensorsMetadata& metadata);
/// Whether the training had events, which no option can say.
bool has_events(const SafetensorsMetadata& metadata);
/// Throws Error(kInvalidInput), beginning with `path`, where something is missing or is no such
/// state.
TrainingState training_state_of(const SafetensorsMetadata& metadata, const std::string& path);

/// Throws Error(kInvalidInput) that lists every option that was another one when the checkpoint was
/// taken, of those that the numbers depend on, and options that this program does not have.
void check_same_training(const SafetensorsMetadata& metadata, const Scenario& scenario,
                         const std::string& path);

/// The options of then that are not the default: "--strategy dp --lr 0.2"; quoted for a shell
/// where that is needed.
std::string options_of_then(const SafetensorsMetadata& metadata);

}  // namespace ringside
