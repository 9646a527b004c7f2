// Events against the run that they are to happen in: every one must have an effect.
#pragma once

#include "parallel/trainer.h"

namespace ringside {

/// Throws Error(kInvalidArgument) that begins with the event's name, for a step, a rank's batch, a
/// parameter or a head that is not there, and for an event that parts ranks inside join. Uses
/// `module`, which is for shapes only.
void check_events(const TrainingPlan& plan, Module& module);

}  // namespace ringside
