#include "trace/collective_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ringside/error.h"

namespace ringside {
namespace {

bool within(int rank, const ScheduleRequest& request) { return rank >= 0 && rank < request.ranks; }

// The size of every rank's full buffer in bytes, as far as it stays below the limit.
std::size_t buffer_bytes(const ScheduleRequest& request) {
  const std::size_t most = kMostBufferBytes + 1;
  std::size_t elements = 0;
  if (request.counts.empty()) {
    const std::size_t blocks =
        has_blocks(request.operation) ? static_cast<std::size_t>(request.ranks) : 1;
    elements = request.count > most / blocks ? most : request.count * blocks;
  }
  for (const std::size_t count : request.counts) {
    elements = std::min(most, elements + std::min(most, count));
  }
  return std::min(most, elements) * size_of(request.dtype);
}

// A request that differs in size alone, so that make_schedule's own word on operation and algorithm
// costs nothing.
ScheduleRequest miniature(ScheduleRequest request) {
  request.ranks = std::min(request.ranks, 2);
  request.root = std::min(request.root, request.ranks - 1);
  request.peer = std::min(request.peer, request.ranks - 1);
  if (is_pair(request.operation) && request.ranks == 2) request.peer = 1 - request.root;
  request.count = std::min<std::size_t>(request.count, 1);
  request.counts.resize(std::min<std::size_t>(request.counts.size(), 2));
  for (std::size_t& count : request.counts) count = std::min<std::size_t>(count, 1);
  request.pieces = std::min(request.pieces, 2);
  return request;
}

}  // namespace

std::string fault_of(const ScheduleRequest& request) {
  const auto ranks = static_cast<std::size_t>(std::max(0, request.ranks));
  const bool rooted = has_root(request.operation) || is_pair(request.operation);
  if (request.ranks < 1 || request.ranks > kMostDevices) {
    return fmt::format("ranks {} must be from 1 to {}", request.ranks, kMostDevices);
  }
  if (rooted && !within(request.root, request)) {
    return fmt::format("root {} must be below the number of ranks, {}", request.root,
                       request.ranks);
  }
  if (is_pair(request.operation) && !within(request.peer, request)) {
    return fmt::format("peer {} must be below the number of ranks, {}", request.peer,
                       request.ranks);
  }
  if (!request.counts.empty() && request.counts.size() != ranks) {
    return fmt::format("{} counts for {} ranks", request.counts.size(), request.ranks);
  }
  if (buffer_bytes(request) > kMostBufferBytes) {
    return fmt::format("the buffer is larger than {} bytes", kMostBufferBytes);
  }
  try {
    make_schedule(miniature(request));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::size_t most_messages(const ScheduleRequest& request) {
  const auto ranks = static_cast<std::size_t>(request.ranks);
  const auto pieces = static_cast<std::size_t>(request.pieces);
  const bool star = request.algorithm == Algorithm::kStar ||
                    request.operation == Operation::kScatter ||
                    request.operation == Operation::kGather;
  if (is_pair(request.operation)) return 1;
  if (star) return 2 * ranks;
  if (request.algorithm == Algorithm::kTree) return 2 * ranks * pieces;
  return 2 * ranks * std::max(ranks, pieces);
}

}  // namespace ringside
