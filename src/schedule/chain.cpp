#include "schedule/chain.h"

#include "schedule/borders.h"
#include "schedule/positions.h"

namespace ringside::schedule {
namespace {

// `first` is the rank where the chain begins.
std::vector<Round> chain_rounds(int ranks, int first, Range buffer, int pieces, Direction direction,
                                Action action) {
  if (ranks == 1) return {};
  const int links = ranks - 1;
  const int step = step_of(direction);
  std::vector<Round> rounds(static_cast<std::size_t>(links - 1 + pieces));
  for (int round = 0; round < links - 1 + pieces; ++round) {
    for (int link = 0; link < links; ++link) {
      const int piece = round - link;
      if (piece < 0 || piece >= pieces) continue;
      const int source = modulo(first + step * link, ranks);
      rounds[static_cast<std::size_t>(round)].push_back({source, modulo(source + step, ranks),
                                                         even_part(buffer.size(), pieces, piece),
                                                         action, pieces == 1 ? -1 : piece});
    }
  }
  return rounds;
}

}  // namespace

std::vector<Round> chain_broadcast(int ranks, int root, Range buffer, int pieces,
                                   Direction direction) {
  return chain_rounds(ranks, root, buffer, pieces, direction, Action::kCopy);
}

std::vector<Round> chain_reduce(int ranks, int root, Range buffer, int pieces,
                                Direction direction) {
  return chain_rounds(ranks, modulo(root + step_of(direction), ranks), buffer, pieces, direction,
                      Action::kCombine);
}

}  // namespace ringside::schedule
