// The checks that worlds of every backend make of what they are given.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

#include "ringside/world.h"

namespace ringside {

/// Throws Error(kInvalidArgument) for a number of ranks outside [1, most_ranks], or memory
/// capacities that are not one per device. The message begins with `world`: "sim world: 0 ranks".
void check_world_options(std::string_view world, const WorldOptions& options,
                         int most_ranks = std::numeric_limits<int>::max());

/// `rank` as an index. Throws Error(kInvalidArgument) for one that a world of `size` does not have.
std::size_t checked_rank(int rank, int size);

}  // namespace ringside
