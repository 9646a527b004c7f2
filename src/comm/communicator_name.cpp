#include "comm/communicator_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace ringside {

namespace {

// Up to here a number is exact in JSON readers that have only doubles.
constexpr std::int64_t kMostReadable = std::int64_t{1} << 52;

// Two of a million communicators meet with a chance of one in ten thousand.
std::int64_t hashed(std::int64_t parent, std::int64_t ordinal) {
  auto mix = static_cast<std::uint64_t>(parent) * 0x9E3779B97F4A7C15U +
             static_cast<std::uint64_t>(ordinal);
  mix = (mix ^ (mix >> 30)) * 0xBF58476D1CE4E5B9U;
  mix = (mix ^ (mix >> 27)) * 0x94D049BB133111EBU;
  return kMostReadable + static_cast<std::int64_t>((mix ^ (mix >> 31)) % kMostReadable);
}

std::int64_t child_number(std::int64_t parent, std::int64_t ordinal) {
  constexpr std::int64_t kChildrenOfOne = 1'000'000;
  if (ordinal >= kChildrenOfOne || parent >= kMostReadable / kChildrenOfOne) {
    return hashed(parent, ordinal);
  }
  return parent * kChildrenOfOne + ordinal;
}

}  // namespace

std::string CommunicatorName::text() const {
  if (number == 0) return "the world";
  return fmt::format("communicator {} (world {})", number, ranks_text(world_ranks));
}

CommunicatorName child_of(const CommunicatorName& parent, std::int64_t ordinal,
                          const std::vector<int>& members) {
  CommunicatorName child{child_number(parent.number, ordinal), {}};
  child.world_ranks.reserve(members.size());
  for (const int member : members) {
    child.world_ranks.push_back(parent.world_ranks[static_cast<std::size_t>(member)]);
  }
  return child;
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
