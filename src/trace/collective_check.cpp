#include "trace/collective_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/request.h"

namespace ringside {

std::string fault_of(const ScheduleRequest& request) {
  if (request.ranks < 1 || request.ranks > kMostDevices) {
    return fmt::format("ranks {} must be from 1 to {}", request.ranks, kMostDevices);
  }
  if (const std::string fault = schedule::fault_in(request); !fault.empty()) {
    return fmt::format("{}: {}", to_string(request.operation), fault);
  }
  if (schedule::rank_buffer_elements(request) > kMostBufferBytes / size_of(request.dtype)) {
    return fmt::format("the buffer is larger than {} bytes", kMostBufferBytes);
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
  if (request.algorithm == Algorithm::kDoubleTree) return 4 * ranks * pieces;
  return 2 * ranks * std::max(ranks, pieces);
}

}  // namespace ringside
