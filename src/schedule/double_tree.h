// The double binary tree: NCCL's "Tree" all-reduce between nodes.
//
// Two binary trees over the same ranks, each with half of the buffer, arranged so that a rank that
// is inner in one is a leaf in the other (of an odd number of ranks, one may be inner in both):
// unlike in a single tree, every rank sends about as much as it receives. Both trees have
// d = ceil(log2 n) levels below their root; each half of the buffer is reduced up its tree, level
// by level, and broadcast down again, 2d rounds. With k pieces these follow each other up and then
// down, 2(d+k-1) rounds. A rank hears its two children in the same round, as in NCCL.
//
// Shape of the trees: NCCL src/graph/trees.cc (ncclGetBtree, ncclGetDtree). Idea: Sanders, Speck,
// Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009.
#pragma once

#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

/// Parent of every rank in the first (0) or second (1) tree; -1 for the root.
std::vector<int> double_tree_parents(int ranks, int tree);

std::vector<Round> double_tree_all_reduce(int ranks, Range buffer, int pieces);

}  // namespace ringside::schedule
