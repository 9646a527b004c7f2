// What a run is asked for, tried on a model without numbers before any device computes: so that
// no training is lost to what cannot be, and the error is the run's and not a rank's.
#pragma once

#include "parallel/trainer.h"

namespace ringside {

/// Builds the scenario's model on the meta backend, looks for what its events name, and returns the
/// model's size. Throws
/// Error(kInvalidArgument): a model that does not exist or does not fit the data, an event whose
/// parameter, head, step or batches the run does not have.
ModelSize rehearse(const TrainingPlan& plan);

/// How many batches of each epoch `rank` leaves out (fewer-batches); a server, whose rank follows
/// those of the workers, what all of them do.
std::int64_t batches_left_out(const Scenario& scenario, int rank);
/// Batches that the rank which leaves out the fewest takes in an epoch, of `batches` that there
/// are.
std::int64_t longest_epoch(const Scenario& scenario, std::int64_t batches);

/// The scenario's model, unless `rank` builds another (other-model).
const std::string& model_of(const Scenario& scenario, int rank);

/// `model` with its first values, on `device`, whose rank may have a seed of its own; what is
/// frozen from the beginning requires no gradient.
std::shared_ptr<Module> build_model(const Scenario& scenario, const std::string& model,
                                    const TrainTest& data, Device& device);

/// Throws Error(kInvalidArgument) that lists the names, if there is none.
Tensor parameter_named(const Module& module, const std::string& name);

}  // namespace ringside
