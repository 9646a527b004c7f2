#include "schedule/star.h"

namespace ringside::schedule {
namespace {

// One message for every rank but the root, made by `message_for`; no round where there is none.
template <typename MessageFor>
std::vector<Round> one_round(int ranks, int root, MessageFor message_for) {
  if (ranks == 1) return {};
  Round round;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != root) round.push_back(message_for(rank));
  }
  return {round};
}

}  // namespace

std::vector<Round> star_broadcast(int ranks, int root, Range buffer) {
  return one_round(ranks, root, [&](int rank) {
    return Message{root, rank, buffer, Action::kCopy, -1};
  });
}

std::vector<Round> star_reduce(int ranks, int root, Range buffer) {
  return one_round(ranks, root, [&](int rank) {
    return Message{rank, root, buffer, Action::kCombine, -1};
  });
}

std::vector<Round> star_scatter(std::span<const Range> blocks, int root) {
  return one_round(static_cast<int>(blocks.size()), root, [&](int rank) {
    return Message{root, rank, blocks[static_cast<std::size_t>(rank)], Action::kCopy, rank};
  });
}

std::vector<Round> star_gather(std::span<const Range> blocks, int root) {
  return one_round(static_cast<int>(blocks.size()), root, [&](int rank) {
    return Message{rank, root, blocks[static_cast<std::size_t>(rank)], Action::kCopy, rank};
  });
}

}  // namespace ringside::schedule
