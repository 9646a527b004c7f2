#include "comm/communicator_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace ringside {

std::string CommunicatorName::text() const {
  if (number == 0) return "the world";
  return fmt::format("communicator {} (world {})", number, ranks_text(world_ranks));
}

std::int64_t child_number(std::int64_t parent, std::int64_t ordinal) {
  constexpr std::int64_t kChildrenOfOne = 1'000'000;
  return parent * kChildrenOfOne + ordinal;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

std::vector<SplitGroup> split_groups(const std::vector<int>& colors, const std::vector<int>& keys) {
  std::map<int, std::vector<int>> members;  // by color
  for (std::size_t rank = 0; rank < colors.size(); ++rank) {
    if (colors[rank] >= 0) members[colors[rank]].push_back(static_cast<int>(rank));
  }
  std::vector<SplitGroup> groups;
  groups.reserve(members.size());
  for (auto& [color, ranks] : members) {
    std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
      return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
    });
    groups.push_back({color, std::move(ranks)});
  }
  return groups;
}

}  // namespace ringside
