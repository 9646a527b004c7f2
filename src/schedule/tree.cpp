#include "schedule/tree.h"

#include <algorithm>

#include "schedule/positions.h"
#include "schedule/sequence.h"

namespace ringside::schedule {
namespace {

// The blocks of ranks first, first + 1, ..., first + count - 1 (mod n), as one range or, around the
// end of the buffer, two.
std::vector<Range> block_ranges(std::span<const Range> blocks, int first, int count) {
  const int ranks = static_cast<int>(blocks.size());
  const auto from = [&](int begin, int end) {
    return Range{blocks[static_cast<std::size_t>(begin)].begin,
                 blocks[static_cast<std::size_t>(end - 1)].end};
  };
  if (first + count <= ranks) return {from(first, first + count)};
  const Range upper = from(first, ranks);
  const Range lower = from(0, first + count - ranks);
  if (upper.size() == 0) return {lower};
  if (lower.size() == 0) return {upper};
  return {upper, lower};
}

}  // namespace

std::vector<Round> tree_broadcast(int ranks, int root, Range buffer) {
  std::vector<Round> rounds;
  for (int informed = 1; informed < ranks; informed *= 2) {
    Round& round = rounds.emplace_back();
    for (int v = 0; v < informed && v + informed < ranks; ++v) {
      round.push_back(
          {modulo(v + root, ranks), modulo(v + informed + root, ranks), buffer, Action::kCopy, -1});
    }
  }
  return rounds;
}

std::vector<Round> tree_reduce(int ranks, int root, Range buffer) {
  return mirrored(tree_broadcast(ranks, root, buffer), Action::kCombine);
}

std::vector<Round> tree_scatter(std::span<const Range> blocks, int root) {
  const int ranks = static_cast<int>(blocks.size());
  int size = 1;
  while (size < ranks) size *= 2;
  std::vector<Round> rounds;
  for (int subtree = size / 2; subtree >= 1; subtree /= 2) {
    Round& round = rounds.emplace_back();
    for (int v = 0; v + subtree < ranks; v += 2 * subtree) {
      const int child = v + subtree;
      const int members = std::min(subtree, ranks - child);
      const int first = modulo(child + root, ranks);
      for (const Range range : block_ranges(blocks, first, members)) {
        round.push_back(
            {modulo(v + root, ranks), first, range, Action::kCopy, members == 1 ? first : -1});
      }
    }
  }
  return rounds;
}

std::vector<Round> tree_gather(std::span<const Range> blocks, int root) {
  return mirrored(tree_scatter(blocks, root), Action::kCopy);
}

}  // namespace ringside::schedule
