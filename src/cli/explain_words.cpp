#include "cli/explain_words.h"

#include <fmt/format.h>

#include <bit>

namespace ringside::cli {
namespace {

bool is_one_way(Operation operation) { return has_root(operation); }

// All-reduce and barrier go in and out again; so do all-gather and reduce-scatter where an
// algorithm makes them of two operations with a root.
bool is_twice(const ScheduleRequest& request) {
  return request.operation == Operation::kAllReduce || request.operation == Operation::kBarrier;
}
std::string twice(const ScheduleRequest& request, bool doubled) {
  return doubled && !is_one_way(request.operation) ? ", and as many back" : "";
}

bool has_own_halves(Algorithm algorithm) {
  return algorithm != Algorithm::kStar && algorithm != Algorithm::kTree;
}

}  // namespace

std::string why_rounds(const ScheduleRequest& request) {
  if (is_pair(request.operation)) return "one message";
  const int n = request.ranks;
  const bool doubled = is_twice(request) || !has_own_halves(request.algorithm);
  const std::string back = twice(request, doubled);
  switch (request.algorithm) {
    case Algorithm::kStar:
      return fmt::format(
          "all {} others exchange with the root in one round{}; but their messages "
          "share its one port",
          n - 1, back);
    case Algorithm::kTree:
      return "the ranks that have something double in every round, the least that can be" + back;
    case Algorithm::kChain:
      if (request.pieces == 1) {
        return fmt::format(
            "the buffer crosses {} links one after the other{}; in more pieces (--pieces) they "
            "would all work at once",
            n - 1, back);
      }
      return fmt::format("a piece crosses {} links one after the other, {} more close behind{}",
                         n - 1, request.pieces - 1, back);
    case Algorithm::kDoubleTree:
      return fmt::format(
          "two binary trees at the same time, each ceil(log2 n) levels deep, in {} "
          "piece{}{}",
          request.pieces, request.pieces == 1 ? "" : "s", back);
    case Algorithm::kHalvingDoubling:
      return std::has_single_bit(static_cast<unsigned>(n))
                 ? "the distance to the partner halves in every round" + back
                 : "the distance to the partner halves in every round" + back +
                       "; n is no power of two, so the ranks too many hand their data to a "
                       "neighbour first and get the result last";
    case Algorithm::kHierarchical:
      return fmt::format(
          "{} nodes of {}: the rounds of both levels add up where those of one "
          "flat ring would multiply",
          n / request.node_size, request.node_size);
    case Algorithm::kDirect:
      return "one partner after the other; none of the messages waits for an earlier one's data" +
             back;
    case Algorithm::kRing:
    case Algorithm::kAutomatic:
      break;
  }
  if (is_one_way(request.operation)) {
    return fmt::format(
        "the ring is an open chain here: a piece crosses {} links one after the "
        "other",
        n - 1);
  }
  return "a chunk visits every rank, one neighbour a round" + back;
}

std::string why_bytes(const ScheduleRequest& request) {
  if (is_pair(request.operation)) return "the message";
  const bool blocks = has_blocks(request.operation);
  switch (request.algorithm) {
    case Algorithm::kStar:
      return "all that is sent passes the root's port, n-1 times what one rank has";
    case Algorithm::kTree:
      if (!blocks)
        return "every message is the whole buffer, and the root takes part in every round";
      return is_one_way(request.operation)
                 ? "a block travels once per level, together with its subtree's"
                 : "whole buffers on one way through rank 0, which takes part in every round";
    case Algorithm::kChain:
      return "every link carries the whole buffer once each way that it is used; pieces only keep "
             "all links busy";
    case Algorithm::kDoubleTree:
      return "half of the buffer on each tree, and an inner rank of one is a leaf of the other: "
             "about twice the buffer for everybody, whatever n is";
    case Algorithm::kHalvingDoubling:
      return "what is exchanged halves with every round: S/2, S/4, ..., so that nothing is sent "
             "twice";
    case Algorithm::kHierarchical:
      return blocks || !is_one_way(request.operation)
                 ? "as a flat ring, but between nodes only the share of one rank per node"
                 : "between nodes one copy per node; the rest stays inside";
    case Algorithm::kDirect:
      return "every rank gets from every other just the part that it needs";
    case Algorithm::kRing:
    case Algorithm::kAutomatic:
      break;
  }
  if (is_one_way(request.operation)) return "every rank passes the buffer on once";
  return "all ranks send in all rounds, one chunk of S/n each: nobody sends more than another, and "
         "no algorithm sends less";
}

}  // namespace ringside::cli
