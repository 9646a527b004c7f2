#include "schedule/double_tree.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "schedule/borders.h"
#include "schedule/positions.h"
#include "schedule/sequence.h"

namespace ringside::schedule {
namespace {

// Parent of `rank` in the first tree; rank 0 is the root, odd ranks are leaves.
int first_tree_parent(int ranks, int rank) {
  if (rank == 0) return -1;
  const int bit = rank & -rank;
  const int parent = (rank ^ bit) | (2 * bit);
  return parent < ranks ? parent : rank ^ bit;
}

// The second tree is the first with other ranks in its places.
int place_in_second_tree(int ranks, int rank) {
  return ranks % 2 == 0 ? ranks - 1 - rank : modulo(rank + 1, ranks);
}
int rank_at_second_place(int ranks, int place) {
  return ranks % 2 == 0 ? ranks - 1 - place : modulo(place - 1, ranks);
}

// Steps to the root.
std::vector<int> depths_of(const std::vector<int>& parents) {
  std::vector<int> depths(parents.size(), 0);
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    for (int above = parents[rank]; above >= 0; above = parents[static_cast<std::size_t>(above)]) {
      ++depths[rank];
    }
  }
  return depths;
}

// All pieces from the root to the leaves; piece p crosses the l-th level of edges in round p + l.
std::vector<Round> broadcast_down(const std::vector<int>& parents, const std::vector<Range>& pieces,
                                  int first_chunk) {
  const std::vector<int> depths = depths_of(parents);
  const int deepest = *std::max_element(depths.begin(), depths.end());
  if (deepest == 0) return {};
  std::vector<Round> rounds(static_cast<std::size_t>(deepest) + pieces.size() - 1);
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    if (parents[rank] < 0) continue;
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      rounds[static_cast<std::size_t>(depths[rank]) - 1 + piece].push_back(
          {parents[rank], static_cast<int>(rank), pieces[piece], Action::kCopy,
           first_chunk + static_cast<int>(piece)});
    }
  }
  return rounds;
}

}  // namespace

std::vector<int> double_tree_parents(int ranks, int tree) {
  std::vector<int> parents;
  parents.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    if (tree == 0) {
      parents.push_back(first_tree_parent(ranks, rank));
      continue;
    }
    const int parent = first_tree_parent(ranks, place_in_second_tree(ranks, rank));
    parents.push_back(parent < 0 ? -1 : rank_at_second_place(ranks, parent));
  }
  return parents;
}

std::vector<Round> double_tree_all_reduce(int ranks, Range buffer, int pieces) {
  const std::vector<Range> halves = even_parts(buffer, 2);
  std::vector<Round> down;
  for (int tree = 0; tree < 2; ++tree) {
    run_beside(down, broadcast_down(double_tree_parents(ranks, tree),
                                    even_parts(halves[static_cast<std::size_t>(tree)], pieces),
                                    tree * pieces));
  }
  std::vector<Round> up = mirrored(down, Action::kCombine);
  return in_sequence(std::move(up), std::move(down));
}

}  // namespace ringside::schedule
