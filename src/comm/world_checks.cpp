#include "comm/world_checks.h"

#include <fmt/format.h>

#include <string>

#include "ringside/error.h"

namespace ringside {

void check_world_options(std::string_view world, const WorldOptions& options, int most_ranks) {
  if (options.size < 1 || options.size > most_ranks) {
    const std::string must = most_ranks == std::numeric_limits<int>::max()
                                 ? "at least 1"
                                 : fmt::format("from 1 to {}", most_ranks);
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} ranks: must be {}", world, options.size, must));
  }
  if (!options.memory_capacities.empty() &&
      options.memory_capacities.size() != static_cast<std::size_t>(options.size)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: {} memory capacities for {} devices: one per device is needed",
                            world, options.memory_capacities.size(), options.size));
  }
}

std::size_t checked_rank(int rank, int size) {
  if (rank < 0 || rank >= size) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("rank {} of a world of {}: must be in [0, {}]", rank, size, size - 1));
  }
  return static_cast<std::size_t>(rank);
}

}  // namespace ringside
