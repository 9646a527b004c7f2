#include "schedule/ring.h"

#include "schedule/positions.h"

namespace ringside::schedule {
namespace {

// Rank i sends chunk (i - step * (first + round)) to rank i + step.
std::vector<Round> ring_rounds(std::span<const Range> chunks, Direction direction, int first,
                               Action action) {
  const int ranks = static_cast<int>(chunks.size());
  const int step = step_of(direction);
  std::vector<Round> rounds(chunks.size() - 1);
  for (int s = 0; s < ranks - 1; ++s) {
    for (int rank = 0; rank < ranks; ++rank) {
      const int chunk = modulo(rank - step * (first + s), ranks);
      rounds[static_cast<std::size_t>(s)].push_back({rank, modulo(rank + step, ranks),
                                                     chunks[static_cast<std::size_t>(chunk)],
                                                     action, chunk});
    }
  }
  return rounds;
}

}  // namespace

std::vector<Round> ring_reduce_scatter(std::span<const Range> chunks, Direction direction) {
  return ring_rounds(chunks, direction, 1, Action::kCombine);
}

std::vector<Round> ring_all_gather(std::span<const Range> chunks, Direction direction) {
  return ring_rounds(chunks, direction, 0, Action::kCopy);
}

}  // namespace ringside::schedule
