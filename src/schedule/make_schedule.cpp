// From a request to its schedule, and how operations without an algorithm of their own are put
// together from those that have one.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "ringside/error.h"
#include "schedule/borders.h"
#include "schedule/chain.h"
#include "schedule/direct.h"
#include "schedule/double_tree.h"
#include "schedule/halving_doubling.h"
#include "schedule/hierarchical.h"
#include "schedule/request.h"
#include "schedule/ring.h"
#include "schedule/sequence.h"
#include "schedule/star.h"
#include "schedule/tree.h"

namespace ringside {
namespace {

using schedule::in_sequence;
using schedule::ring_chunks;

// The first is what kAutomatic stands for.
constexpr std::array kOfOneBuffer{Algorithm::kRing, Algorithm::kStar, Algorithm::kTree,
                                  Algorithm::kChain, Algorithm::kHierarchical};
constexpr std::array kOfAllReduce{Algorithm::kRing,         Algorithm::kStar,
                                  Algorithm::kTree,         Algorithm::kChain,
                                  Algorithm::kDoubleTree,   Algorithm::kHalvingDoubling,
                                  Algorithm::kHierarchical, Algorithm::kDirect};
constexpr std::array kOfBlocks{Algorithm::kRing,         Algorithm::kStar,
                               Algorithm::kTree,         Algorithm::kHalvingDoubling,
                               Algorithm::kHierarchical, Algorithm::kDirect};
constexpr std::array kWithoutRing{Algorithm::kStar, Algorithm::kTree};
constexpr std::array kOneMessage{Algorithm::kStar};
constexpr std::array kOfAllToAll{Algorithm::kDirect};

void check_request(const ScheduleRequest& request) {
  const std::string fault = schedule::fault_in(request);
  if (fault.empty()) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: {}", to_string(request.operation), fault));
}

std::vector<Range> make_blocks(const ScheduleRequest& request) {
  if (request.operation == Operation::kAllToAll) {
    return schedule::even_parts({0, schedule::full_buffer_elements(request)},
                                request.ranks * request.ranks);
  }
  std::vector<Range> blocks;
  std::size_t begin = 0;
  for (int rank = 0; rank < request.ranks; ++rank) {
    const std::size_t count =
        request.counts.empty() ? request.count : request.counts[static_cast<std::size_t>(rank)];
    blocks.push_back({begin, begin + count});
    begin += count;
  }
  return blocks;
}

std::vector<Round> ring_rounds(const Schedule& schedule) {
  const ScheduleRequest& request = schedule.request;
  const Range buffer{0, schedule.elements};
  switch (request.operation) {
    case Operation::kBroadcast:
      return schedule::chain_broadcast(request.ranks, request.root, buffer, request.pieces,
                                       request.direction);
    case Operation::kReduce:
      return schedule::chain_reduce(request.ranks, request.root, buffer, request.pieces,
                                    request.direction);
    case Operation::kAllGather:
      return schedule::ring_all_gather(schedule.blocks, request.direction);
    case Operation::kReduceScatter:
      return schedule::ring_reduce_scatter(schedule.blocks, request.direction);
    case Operation::kAllReduce:
    case Operation::kBarrier:  // an all-reduce of nothing
    case Operation::kScatter:  // this one and the rest have no ring
    case Operation::kGather:
    case Operation::kAllToAll:
    case Operation::kSend:
    case Operation::kRecv:
      break;
  }
  const auto chunks = ring_chunks(schedule.elements, request.ranks, request.border, request.dtype);
  return in_sequence(schedule::ring_reduce_scatter(chunks, request.direction),
                     schedule::ring_all_gather(chunks, request.direction));
}

// Star and tree know the four operations with a root; the others are two of those through rank 0.
struct RootedOperations {
  std::vector<Round> (*broadcast)(int ranks, int root, Range buffer);
  std::vector<Round> (*reduce)(int ranks, int root, Range buffer);
  std::vector<Round> (*scatter)(std::span<const Range> blocks, int root);
  std::vector<Round> (*gather)(std::span<const Range> blocks, int root);
};
constexpr RootedOperations kStarOperations{schedule::star_broadcast, schedule::star_reduce,
                                           schedule::star_scatter, schedule::star_gather};
constexpr RootedOperations kTreeOperations{schedule::tree_broadcast, schedule::tree_reduce,
                                           schedule::tree_scatter, schedule::tree_gather};

std::vector<Round> rooted_rounds(const RootedOperations& star_or_tree, const Schedule& schedule) {
  const int ranks = schedule.request.ranks;
  const int root = schedule.request.root;
  const Range buffer{0, schedule.elements};
  switch (schedule.request.operation) {
    case Operation::kBroadcast:
      return star_or_tree.broadcast(ranks, root, buffer);
    case Operation::kReduce:
      return star_or_tree.reduce(ranks, root, buffer);
    case Operation::kScatter:
      return star_or_tree.scatter(schedule.blocks, root);
    case Operation::kGather:
      return star_or_tree.gather(schedule.blocks, root);
    case Operation::kAllGather:
      return in_sequence(star_or_tree.gather(schedule.blocks, 0),
                         star_or_tree.broadcast(ranks, 0, buffer));
    case Operation::kReduceScatter:
      return in_sequence(star_or_tree.reduce(ranks, 0, buffer),
                         star_or_tree.scatter(schedule.blocks, 0));
    case Operation::kAllReduce:
    case Operation::kBarrier:  // an all-reduce of nothing
    case Operation::kSend:     // this one and the rest never come here
    case Operation::kRecv:
    case Operation::kAllToAll:
      break;
  }
  return in_sequence(star_or_tree.reduce(ranks, 0, buffer),
                     star_or_tree.broadcast(ranks, 0, buffer));
}

std::vector<Round> chain_rounds(const Schedule& schedule) {
  const ScheduleRequest& request = schedule.request;
  const Range buffer{0, schedule.elements};
  const auto reduce = [&](int root) {
    return schedule::chain_reduce(request.ranks, root, buffer, request.pieces, request.direction);
  };
  const auto broadcast = [&](int root) {
    return schedule::chain_broadcast(request.ranks, root, buffer, request.pieces,
                                     request.direction);
  };
  if (request.operation == Operation::kBroadcast) return broadcast(request.root);
  if (request.operation == Operation::kReduce) return reduce(request.root);
  return in_sequence(reduce(0), broadcast(0));
}

// Halving-doubling and direct know reduce-scatter and all-gather; all-reduce and barrier are both.
std::vector<Round> halving_doubling_rounds(const Schedule& schedule) {
  const int ranks = schedule.request.ranks;
  switch (schedule.request.operation) {
    case Operation::kReduceScatter:
      return schedule::halving_reduce_scatter(schedule.blocks);
    case Operation::kAllGather:
      return schedule::doubling_all_gather(schedule.blocks);
    default:
      return schedule::halving_doubling_all_reduce(ranks, {0, schedule.elements});
  }
}

std::vector<Round> direct_rounds(const Schedule& schedule) {
  switch (schedule.request.operation) {
    case Operation::kReduceScatter:
      return schedule::direct_reduce_scatter(schedule.blocks);
    case Operation::kAllGather:
      return schedule::direct_all_gather(schedule.blocks);
    case Operation::kAllToAll:
      return schedule::direct_all_to_all(schedule.request.ranks, schedule.blocks);
    default:
      break;
  }
  const std::vector<Range> chunks =
      schedule::even_parts({0, schedule.elements}, schedule.request.ranks);
  return in_sequence(schedule::direct_reduce_scatter(chunks), schedule::direct_all_gather(chunks));
}

std::vector<Round> hierarchical_rounds(const Schedule& schedule) {
  const ScheduleRequest& request = schedule.request;
  const schedule::Nodes nodes{request.ranks / request.node_size, request.node_size};
  const Range buffer{0, schedule.elements};
  switch (request.operation) {
    case Operation::kBroadcast:
      return schedule::hierarchical_broadcast(nodes, request.root, buffer);
    case Operation::kReduce:
      return schedule::hierarchical_reduce(nodes, request.root, buffer);
    case Operation::kAllGather:
      return schedule::hierarchical_all_gather(nodes, schedule.blocks);
    case Operation::kReduceScatter:
      return schedule::hierarchical_reduce_scatter(nodes, schedule.blocks);
    default:  // all-reduce, and barrier, an all-reduce of nothing
      return schedule::hierarchical_all_reduce(nodes, buffer);
  }
}

std::vector<Round> make_rounds(const Schedule& schedule) {
  const ScheduleRequest& request = schedule.request;
  if (is_pair(request.operation)) {
    return {{{request.root, request.peer, {0, schedule.elements}, Action::kCopy, -1}}};
  }
  switch (request.algorithm) {
    case Algorithm::kStar:
      return rooted_rounds(kStarOperations, schedule);
    case Algorithm::kTree:
      return rooted_rounds(kTreeOperations, schedule);
    case Algorithm::kChain:
      return chain_rounds(schedule);
    case Algorithm::kDoubleTree:
      return schedule::double_tree_all_reduce(request.ranks, {0, schedule.elements},
                                              request.pieces);
    case Algorithm::kHalvingDoubling:
      return halving_doubling_rounds(schedule);
    case Algorithm::kHierarchical:
      return hierarchical_rounds(schedule);
    case Algorithm::kDirect:
      return direct_rounds(schedule);
    case Algorithm::kRing:
    case Algorithm::kAutomatic:  // make_schedule has chosen one
      break;
  }
  return ring_rounds(schedule);
}

}  // namespace

std::span<const Algorithm> algorithms_for(Operation operation) {
  switch (operation) {
    case Operation::kScatter:
    case Operation::kGather:
      return kWithoutRing;
    case Operation::kSend:
    case Operation::kRecv:
      return kOneMessage;
    case Operation::kBroadcast:
    case Operation::kReduce:
      return kOfOneBuffer;
    case Operation::kAllGather:
    case Operation::kReduceScatter:
      return kOfBlocks;
    case Operation::kAllToAll:
      return kOfAllToAll;
    case Operation::kAllReduce:
    case Operation::kBarrier:
      break;
  }
  return kOfAllReduce;
}

Schedule make_schedule(const ScheduleRequest& request) {
  check_request(request);
  Schedule result;
  result.request = request;
  result.request.algorithm = schedule::chosen_algorithm(request);
  result.request.node_size = schedule::chosen_node_size(request);
  result.elements = schedule::full_buffer_elements(request);
  if (has_blocks(request.operation)) result.blocks = make_blocks(request);
  result.rounds = make_rounds(result);
  return result;
}

}  // namespace ringside
