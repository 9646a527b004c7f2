// What one device alone makes of a run's training: the measure that --verify compares with.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ringside/strategy.h"

namespace ringside {

struct TrainingPlan;

/// One parameter after a step, in float64.
struct ParameterValues {
  std::string name;
  std::vector<double> values;
  std::vector<double> gradient;  ///< empty: there is none
};
std::vector<ParameterValues> values_of(const Module& module);

/// One device after the step that is compared.
struct SingleDevice {
  int step = -1;
  std::vector<ParameterValues> parameters;
  /// Why the devices of this run cannot have what a single one has, whatever they do: their
  /// BatchNorm's statistics are of fewer rows, their dropout draws other numbers. Empty: they
  /// should have it.
  std::string unlike;
};

/// Builds the model with its first values, those of a checkpoint included.
using ModelBuilder = std::function<std::shared_ptr<Module>(Device& device)>;

/// Trains on one simulated device, of a world of its own, from where the run begins to its
/// Scenario::verify_step (without one: its first step), without the scenario's events. A batch has
/// the rows that all replicas train on in that step; ranks with fewer batches leave theirs out.
/// Throws Error(kInvalidArgument) for a step in which rank 0 has no batch.
SingleDevice train_single_device(const TrainingPlan& plan, const ModelBuilder& build,
                                 const SingleOptions& options);

}  // namespace ringside
