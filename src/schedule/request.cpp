#include "schedule/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace ringside::schedule {
namespace {

std::string fault_in_rank(const ScheduleRequest& request, std::string_view what, int rank) {
  if (rank >= 0 && rank < request.ranks) return {};
  return fmt::format("{} {}: must be in [0, {}]", what, rank, request.ranks - 1);
}

std::string fault_in_partners(const ScheduleRequest& request) {
  if (is_pair(request.operation)) {
    const std::string source = fault_in_rank(request, "source", request.root);
    return source.empty() ? fault_in_rank(request, "peer", request.peer) : source;
  }
  return has_root(request.operation) ? fault_in_rank(request, "root", request.root) : "";
}

std::string fault_in_counts(const ScheduleRequest& request) {
  if (request.counts.empty()) return {};
  if (!takes_counts(request.operation)) {
    return "counts per rank: only gather, scatter and all-gather take them";
  }
  if (request.counts.size() == static_cast<std::size_t>(request.ranks)) return {};
  return fmt::format("{} counts for {} ranks: one per rank is needed", request.counts.size(),
                     request.ranks);
}

std::string fault_in_algorithm(const ScheduleRequest& request) {
  const std::span<const Algorithm> known = algorithms_for(request.operation);
  if (request.algorithm == Algorithm::kAutomatic ||
      std::find(known.begin(), known.end(), request.algorithm) != known.end()) {
    return {};
  }
  std::vector<std::string_view> names;
  for (const Algorithm algorithm : known) names.push_back(to_string(algorithm));
  return fmt::format("algorithm {}: must be one of {}", to_string(request.algorithm),
                     fmt::join(names, ", "));
}

std::string fault_in_node_size(const ScheduleRequest& request) {
  if (request.algorithm != Algorithm::kHierarchical || request.node_size == 0) return {};
  if (request.node_size > 0 && request.ranks % request.node_size == 0) return {};
  return fmt::format("node size {}: must divide the {} ranks", request.node_size, request.ranks);
}

// So that a hostile count is an error and not a wrong size.
std::string fault_in_size(const ScheduleRequest& request) {
  if (request.operation == Operation::kBarrier) return {};
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 16;
  const auto too_many = [](std::size_t count) {
    return fmt::format("count {}: more elements than can be counted", count);
  };
  const auto ranks = static_cast<std::size_t>(request.ranks);
  const std::size_t blocks = request.operation == Operation::kAllToAll ? ranks * ranks
                             : has_blocks(request.operation)           ? ranks
                                                                       : 1;
  if (request.counts.empty()) {
    return request.count > kMost / blocks ? too_many(request.count) : "";
  }
  std::size_t sum = 0;
  for (const std::size_t count : request.counts) {
    if (count > kMost - sum) return too_many(count);
    sum += count;
  }
  return {};
}

}  // namespace

std::string fault_in(const ScheduleRequest& request) {
  if (request.ranks < 1) return fmt::format("{} ranks: must be at least 1", request.ranks);
  if (std::string fault = fault_in_partners(request); !fault.empty()) return fault;
  if (request.pieces < 1) return fmt::format("{} pieces: must be at least 1", request.pieces);
  if (std::string fault = fault_in_counts(request); !fault.empty()) return fault;
  if (std::string fault = fault_in_algorithm(request); !fault.empty()) return fault;
  if (std::string fault = fault_in_node_size(request); !fault.empty()) return fault;
  return fault_in_size(request);
}

Algorithm chosen_algorithm(const ScheduleRequest& request) {
  return request.algorithm == Algorithm::kAutomatic ? algorithms_for(request.operation).front()
                                                    : request.algorithm;
}

int chosen_node_size(const ScheduleRequest& request) {
  if (chosen_algorithm(request) != Algorithm::kHierarchical) return 0;
  if (request.node_size > 0) return request.node_size;
  int chosen = 1;
  for (int size = 1; size * size <= request.ranks; ++size) {
    if (request.ranks % size == 0) chosen = size;
  }
  return chosen;
}

std::size_t full_buffer_elements(const ScheduleRequest& request) {
  if (request.operation == Operation::kBarrier) return 0;
  if (!has_blocks(request.operation)) return request.count;
  const auto ranks = static_cast<std::size_t>(request.ranks);
  if (request.operation == Operation::kAllToAll) return request.count * ranks * ranks;
  if (request.counts.empty()) return request.count * ranks;
  return std::accumulate(request.counts.begin(), request.counts.end(), std::size_t{0});
}

std::size_t rank_buffer_elements(const ScheduleRequest& request) {
  const std::size_t all = full_buffer_elements(request);
  return request.operation == Operation::kAllToAll ? all / static_cast<std::size_t>(request.ranks)
                                                   : all;
}

}  // namespace ringside::schedule
