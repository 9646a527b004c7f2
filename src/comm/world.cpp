// What can be said of every world, whatever its backend.
#include "ringside/world.h"

#include <fmt/format.h>

#include <functional>

#include "ringside/error.h"

namespace ringside {

std::vector<Communicator*> World::local_communicators() {
  std::vector<Communicator*> communicators;
  communicators.reserve(local_ranks().size());
  for (const int rank : local_ranks()) communicators.push_back(&communicator(rank));
  return communicators;
}

// One thread makes the calls of all ranks, so none of them may block before all have begun.
std::vector<std::unique_ptr<Communicator>> split_all(World& world, const std::vector<int>& colors,
                                                     const std::vector<int>& keys) {
  const auto ranks = static_cast<std::size_t>(world.size());
  if (colors.size() != ranks || keys.size() != ranks) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("split_all: {} colors and {} keys for a world of {} ranks",
                            colors.size(), keys.size(), ranks));
  }
  std::vector<std::function<std::unique_ptr<Communicator>()>> begun(ranks);
  for (const int rank : world.local_ranks()) {
    const auto index = static_cast<std::size_t>(rank);
    begun[index] = world.communicator(rank).begin_split(colors[index], keys[index]);
  }
  std::vector<std::unique_ptr<Communicator>> result(ranks);
  for (const int rank : world.local_ranks()) {
    const auto index = static_cast<std::size_t>(rank);
    result[index] = begun[index]();
  }
  return result;
}

}  // namespace ringside
