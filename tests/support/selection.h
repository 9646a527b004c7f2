// Which combinations of parameters a test tries: all of them, or (RINGSIDE_TEST_SELECTION=pairwise,
// set by ctest under the sanitizers) so few that every pair of values of two parameters still
// occurs.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace ringside::test {

inline bool selects_pairwise() {
  const char* value = std::getenv("RINGSIDE_TEST_SELECTION");
  return value != nullptr && std::string_view(value) == "pairwise";
}

/// One index per parameter.
using Combination = std::vector<std::size_t>;

inline std::vector<Combination> all_combinations(const std::vector<std::size_t>& sizes) {
  std::vector<Combination> result{{}};
  for (const std::size_t size : sizes) {
    std::vector<Combination> longer;
    longer.reserve(result.size() * size);
    for (const Combination& shorter : result) {
      for (std::size_t value = 0; value < size; ++value) {
        longer.push_back(shorter);
        longer.back().push_back(value);
      }
    }
    result = std::move(longer);
  }
  return result;
}

/// Greedy: each combination begins with a pair that has not occurred, and takes for every other
/// parameter the value that adds most new pairs.
inline std::vector<Combination> pairwise_combinations(const std::vector<std::size_t>& sizes) {
  using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;
  std::set<Pair> open;  // (parameter, value, later parameter, value)
  for (std::size_t p = 0; p < sizes.size(); ++p) {
    for (std::size_t q = p + 1; q < sizes.size(); ++q) {
      for (std::size_t v = 0; v < sizes[p]; ++v) {
        for (std::size_t w = 0; w < sizes[q]; ++w) open.insert({p, v, q, w});
      }
    }
  }
  std::vector<Combination> result;
  while (!open.empty()) {
    constexpr auto kFree = static_cast<std::size_t>(-1);
    const auto [p, v, q, w] = *open.begin();
    Combination chosen(sizes.size(), kFree);
    chosen[p] = v;
    chosen[q] = w;
    const auto gain = [&](std::size_t parameter, std::size_t value) {
      std::size_t pairs = 0;
      for (std::size_t other = 0; other < sizes.size(); ++other) {
        if (other == parameter || chosen[other] == kFree) continue;
        pairs += other < parameter ? open.count({other, chosen[other], parameter, value})
                                   : open.count({parameter, value, other, chosen[other]});
      }
      return pairs;
    };
    for (std::size_t parameter = 0; parameter < sizes.size(); ++parameter) {
      if (chosen[parameter] != kFree) continue;
      std::size_t best = 0;
      for (std::size_t value = 1; value < sizes[parameter]; ++value) {
        if (gain(parameter, value) > gain(parameter, best)) best = value;
      }
      chosen[parameter] = best;
    }
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      for (std::size_t b = a + 1; b < sizes.size(); ++b) open.erase({a, chosen[a], b, chosen[b]});
    }
    result.push_back(chosen);
  }
  return result;
}

inline std::vector<Combination> selected_combinations(const std::vector<std::size_t>& sizes) {
  return selects_pairwise() ? pairwise_combinations(sizes) : all_combinations(sizes);
}

}  // namespace ringside::test
