// Long sums in float64 that compilers vectorise: eight lanes, joined in a fixed order, so that the
// order of additions depends on the length alone.
#pragma once

#include <array>
#include <cstdint>

namespace ringside {

/// The sum of value(i) for i in [0, count).
template <typename Value>
double lane_sum(std::int64_t count, const Value& value) {
  constexpr std::int64_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[static_cast<std::size_t>(lane)] += value(i + lane);
    }
  }
  for (std::int64_t lane = 0; i < count; ++i, ++lane) {
    lanes[static_cast<std::size_t>(lane)] += value(i);
  }
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace ringside
