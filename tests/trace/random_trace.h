// Valid traces of random content, for properties that must hold for every trace.
#pragma once

#include <cstdint>
#include <random>

#include "ringside/trace.h"

namespace ringside::test {

/// The same trace for the same seed. Without NaN, so that a trace equals itself.
Trace random_trace(std::uint32_t seed);

}  // namespace ringside::test
