// The test matrix of collectives: operation x algorithm x ranks x sizes x dtype x op, or its
// pairwise selection, and beside it the cases of what only some operations and algorithms take:
// counts per rank, pieces, node sizes. Every backend's tests go over it.

#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "support/collective_case.h"
#include "support/selection.h"

namespace ringside::test {

/// The parameters of the matrix but for the number of ranks.
inline std::vector<std::size_t> matrix_sizes() {
  std::size_t most_algorithms = 0;
  for (const Operation operation : kCollectives) {
    most_algorithms = std::max(most_algorithms, algorithms_for(operation).size());
  }
  return {std::size(kCollectives), most_algorithms, std::size(kCounts), std::size(kDTypes),
          std::size(kReduceOps)};
}

/// The cases of `chosen`, whose last index is that of the number of ranks in `ranks`.
inline std::vector<CollectiveCase> matrix_cases(const std::vector<Combination>& all_chosen,
                                                const std::vector<int>& ranks, bool pairwise) {
  std::vector<CollectiveCase> cases;
  for (const Combination& chosen : all_chosen) {
    CollectiveCase c;
    c.operation = kCollectives[chosen[0]];
    const auto algorithms = algorithms_for(c.operation);
    c.algorithm = algorithms[chosen[1] % algorithms.size()];
    c.count = kCounts[chosen[2]];
    c.dtype = kDTypes[chosen[3]];
    c.op = kReduceOps[chosen[4]];
    c.ranks = ranks[chosen[5]];
    // Every root is met, as the counts and dtypes go by.
    c.root = has_root(c.operation) ? static_cast<int>(cases.size()) % c.ranks : 0;
    c.seed = cases.size() + 1;
    const bool same_as_another =
        !pairwise && ((!combines(c.operation) && chosen[4] > 0) || chosen[1] >= algorithms.size() ||
                      (c.operation == Operation::kBarrier && (chosen[2] > 0 || chosen[3] > 0)));
    if (c.operation == Operation::kBarrier) c.count = 0;
    if (!same_as_another) cases.push_back(c);
  }
  return cases;
}

/// For 1 to 8 ranks.
inline std::vector<CollectiveCase> collective_matrix() {
  const std::vector<int> ranks{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::size_t> sizes = matrix_sizes();
  sizes.push_back(ranks.size());
  return matrix_cases(selected_combinations(sizes), ranks, selects_pairwise());
}

/// The pairwise selection for one number of ranks, and every algorithm of every operation in it.
inline std::vector<CollectiveCase> pairwise_matrix(int ranks) {
  std::vector<std::size_t> sizes = matrix_sizes();
  sizes.push_back(1);
  return matrix_cases(pairwise_combinations(sizes), {ranks}, true);
}

/// Scatter, gather and all-gather of blocks of unequal sizes, some of them empty.
inline std::vector<CollectiveCase> cases_with_counts(int ranks) {
  std::vector<CollectiveCase> cases;
  for (const Operation operation : kCollectives) {
    if (!takes_counts(operation)) continue;
    for (const Algorithm algorithm : algorithms_for(operation)) {
      CollectiveCase c;
      c.operation = operation;
      c.algorithm = algorithm;
      c.ranks = ranks;
      for (int rank = 0; rank < ranks; ++rank) {
        c.counts.push_back(static_cast<std::size_t>((5 * rank + 3) % 7) * 11 % 8);
      }
      c.dtype = kDTypes[cases.size() % std::size(kDTypes)];
      c.root = has_root(operation) ? static_cast<int>(cases.size()) % ranks : 0;
      c.seed = 100 + cases.size();
      cases.push_back(c);
    }
  }
  return cases;
}

/// Chains and double trees in pieces, hierarchies with every node size.
inline std::vector<CollectiveCase> cases_with_parameters(int ranks) {
  std::vector<CollectiveCase> cases;
  const auto add = [&](CollectiveCase c) {
    c.ranks = ranks;
    c.count = c.pieces == 1 ? 37 : 101;
    c.dtype = kDTypes[cases.size() % std::size(kDTypes)];
    c.op = kReduceOps[cases.size() % std::size(kReduceOps)];
    c.root = has_root(c.operation) ? static_cast<int>(cases.size()) % ranks : 0;
    c.seed = 200 + cases.size();
    cases.push_back(c);
  };
  for (const Operation operation : kCollectives) {
    if (operation == Operation::kBarrier) continue;
    CollectiveCase c;
    c.operation = operation;
    for (const Algorithm algorithm : algorithms_for(operation)) {
      c.algorithm = algorithm;
      for (const int pieces : {2, 3, 8}) {
        c.pieces = pieces;
        if (algorithm == Algorithm::kChain || algorithm == Algorithm::kDoubleTree) add(c);
      }
      c.pieces = 1;
      for (int size = 1; algorithm == Algorithm::kHierarchical && size <= ranks; ++size) {
        c.node_size = size;
        if (ranks % size == 0) add(c);
      }
      c.node_size = 0;
    }
  }
  return cases;
}

}  // namespace ringside::test
