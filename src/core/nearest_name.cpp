// Body of nearest_name.h.
#include "core/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ringside {
namespace {

// Restricted Damerau-Levenshtein distance, row by row.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

// Of ASCII letters: the names have no others.
std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string small = lower_case(name);
  std::string_view best;
  std::size_t best_distance = small.size() + 1;
  for (const std::string_view spelling : candidates) {
    const std::string candidate = lower_case(spelling);
    const bool begins =
        small.size() >= 3 && candidate.size() > small.size() && candidate.starts_with(small);
    const std::size_t distance = begins ? 1 : edit_distance(small, candidate);
    const std::size_t allowed =
        std::max<std::size_t>(1, std::max(small.size(), candidate.size()) / 3);
    if (distance <= allowed && distance < best_distance && distance < candidate.size()) {
      best = spelling;
      best_distance = distance;
    }
  }
  return std::string(best);
}

}  // namespace ringside
