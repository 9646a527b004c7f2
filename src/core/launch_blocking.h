// RINGSIDE_LAUNCH_BLOCKING, the debugging aid that CUDA_LAUNCH_BLOCKING is on CUDA.
#pragma once

namespace ringside {

/// True for "1": submit waits until its launch has run, and throws its error. Throws
/// Error(kInvalidArgument) for anything but 0, 1 or nothing.
bool launch_blocking_from_environment();

}  // namespace ringside
