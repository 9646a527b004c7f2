// From a request to its schedule, and how operations without an algorithm of their own are put
// together from those that have one.
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "ringside/error.h"
#include "schedule/borders.h"
#include "schedule/chain.h"
#include "schedule/request.h"
#include "schedule/ring.h"
#include "schedule/star.h"
#include "schedule/tree.h"

namespace ringside {
namespace {

using schedule::ring_chunks;

// The first is what kAutomatic stands for.
constexpr std::array kRingFirst{Algorithm::kRing, Algorithm::kStar, Algorithm::kTree};
constexpr std::array kWithoutRing{Algorithm::kStar, Algorithm::kTree};
constexpr std::array kDirect{Algorithm::kStar};

void check_request(const ScheduleRequest& request) {
  const std::string fault = schedule::fault_in(request);
  if (fault.empty()) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: {}", to_string(request.operation), fault));
}

std::vector<Range> make_blocks(const ScheduleRequest& request) {
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

std::vector<Round> in_sequence(std::vector<Round> first, std::vector<Round> second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()),
               std::make_move_iterator(second.end()));
  return first;
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
    case Operation::kSend:     // it and recv never come here
    case Operation::kRecv:
      break;
  }
  return in_sequence(star_or_tree.reduce(ranks, 0, buffer),
                     star_or_tree.broadcast(ranks, 0, buffer));
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
      return kDirect;
    case Operation::kBroadcast:
    case Operation::kReduce:
    case Operation::kAllReduce:
    case Operation::kAllGather:
    case Operation::kReduceScatter:
    case Operation::kBarrier:
      break;
  }
  return kRingFirst;
}

Schedule make_schedule(const ScheduleRequest& request) {
  check_request(request);
  Schedule result;
  result.request = request;
  result.request.algorithm = schedule::chosen_algorithm(request);
  result.elements = schedule::full_buffer_elements(request);
  if (has_blocks(request.operation)) result.blocks = make_blocks(request);
  result.rounds = make_rounds(result);
  return result;
}

}  // namespace ringside
