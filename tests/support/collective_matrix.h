// The test matrix of collectives: operation x algorithm x 1..8 ranks x sizes x dtype x op, or its
// pairwise selection.

#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "support/collective_case.h"
#include "support/selection.h"

namespace ringside::test {

inline std::vector<CollectiveCase> collective_matrix(std::size_t max_ranks = 8) {
  std::size_t most_algorithms = 0;
  for (const Operation operation : kCollectives) {
    most_algorithms = std::max(most_algorithms, algorithms_for(operation).size());
  }
  std::vector<CollectiveCase> cases;
  for (const Combination& chosen :
       selected_combinations({std::size(kCollectives), most_algorithms, max_ranks,
                              std::size(kCounts), std::size(kDTypes), std::size(kReduceOps)})) {
    CollectiveCase c;
    c.operation = kCollectives[chosen[0]];
    const auto algorithms = algorithms_for(c.operation);
    c.algorithm = algorithms[chosen[1] % algorithms.size()];
    c.ranks = static_cast<int>(chosen[2]) + 1;
    c.count = kCounts[chosen[3]];
    c.dtype = kDTypes[chosen[4]];
    c.op = kReduceOps[chosen[5]];
    // Every root is met, as the counts and dtypes go by.
    c.root = has_root(c.operation) ? static_cast<int>(cases.size()) % c.ranks : 0;
    c.seed = cases.size() + 1;
    const bool same_as_another =
        !selects_pairwise() &&
        ((!combines(c.operation) && chosen[5] > 0) || chosen[1] >= algorithms.size() ||
         (c.operation == Operation::kBarrier && (chosen[3] > 0 || chosen[4] > 0)));
    if (c.operation == Operation::kBarrier) c.count = 0;
    if (!same_as_another) cases.push_back(c);
  }
  return cases;
}

}  // namespace ringside::test
