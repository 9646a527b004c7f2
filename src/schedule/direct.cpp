#include "schedule/direct.h"

#include "schedule/positions.h"

namespace ringside::schedule {
namespace {

// In round s rank i sends block_of(i, i + s) to rank i + s.
template <typename BlockOf>
std::vector<Round> pairwise(int ranks, std::span<const Range> blocks, Action action,
                            BlockOf block_of) {
  std::vector<Round> rounds;
  for (int distance = 1; distance < ranks; ++distance) {
    Round& round = rounds.emplace_back();
    for (int rank = 0; rank < ranks; ++rank) {
      const int partner = modulo(rank + distance, ranks);
      const int block = block_of(rank, partner);
      round.push_back({rank, partner, blocks[static_cast<std::size_t>(block)], action, block});
    }
  }
  return rounds;
}

}  // namespace

std::vector<Round> direct_reduce_scatter(std::span<const Range> blocks) {
  return pairwise(static_cast<int>(blocks.size()), blocks, Action::kCombine,
                  [](int /*source*/, int partner) { return partner; });
}

std::vector<Round> direct_all_gather(std::span<const Range> blocks) {
  return pairwise(static_cast<int>(blocks.size()), blocks, Action::kCopy,
                  [](int source, int /*partner*/) { return source; });
}

std::vector<Round> direct_all_to_all(int ranks, std::span<const Range> blocks) {
  return pairwise(ranks, blocks, Action::kCopy,
                  [ranks](int source, int partner) { return source * ranks + partner; });
}

}  // namespace ringside::schedule
