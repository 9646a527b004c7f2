#include "core/prefix_search.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace ringside {
namespace {

constexpr std::size_t kMostKeys = 20'000;    // of either side: beyond it nothing is looked for
constexpr std::size_t kMostRules = 8;        // that are offered together
constexpr std::size_t kMostStrays = 4;       // keys that a round starts from
constexpr std::size_t kMostCandidates = 16;  // rules that are tried for one of them

std::vector<std::string_view> parts_of(std::string_view prefix) {
  std::vector<std::string_view> parts;
  while (!prefix.empty()) {
    const std::size_t end = std::min(prefix.find('.'), prefix.size() - 1) + 1;
    parts.push_back(prefix.substr(0, end));
    prefix.remove_prefix(end);
  }
  return parts;
}

/// Where the longest common end of whole parts begins, counted from the end; 0 if there is none.
std::size_t common_end(std::string_view a, std::string_view b) {
  std::size_t whole = 0;
  const std::size_t most = std::min(a.size(), b.size());
  for (std::size_t length = 1; length <= most; ++length) {
    if (a[a.size() - length] != b[b.size() - length]) return whole;
    const bool begins_a = length == a.size() || a[a.size() - length - 1] == '.';
    const bool begins_b = length == b.size() || b[b.size() - length - 1] == '.';
    if (begins_a && begins_b) whole = length;
  }
  return whole;
}

/// What of the last `end` letters of a key follows their first part; 0 if nothing does.
std::size_t without_first_part(std::string_view key, std::size_t end) {
  const std::size_t dot = key.find('.', key.size() - end);
  return dot == std::string_view::npos ? 0 : key.size() - dot - 1;
}

bool is_subsequence(const std::vector<std::string_view>& few,
                    const std::vector<std::string_view>& many) {
  std::size_t found = 0;
  for (const std::string_view part : many) {
    if (found < few.size() && few[found] == part) ++found;
  }
  return found == few.size();
}

template <typename Range>
bool all_begin_with(const Range& entries, std::string_view prefix) {
  return std::all_of(entries.begin(), entries.end(),
                     [&](const NamedShape& entry) { return entry.name.starts_with(prefix); });
}

}  // namespace

PrefixSearch::PrefixSearch(std::span<const NamedShape> expected, std::span<const NamedShape> given)
    : expected_(expected), given_(given.begin(), given.end()) {
  for (const NamedShape& entry : expected_) expected_by_name_.emplace(entry.name, &entry);
  matching_ = static_cast<std::size_t>(std::count_if(
      given_.begin(), given_.end(), [&](const NamedShape& entry) { return expects(entry); }));
}

bool PrefixSearch::expects(const NamedShape& entry) const {
  const auto found = expected_by_name_.find(entry.name);
  return found != expected_by_name_.end() && found->second->shape == entry.shape;
}

std::vector<PrefixRule> PrefixSearch::find() {
  std::vector<PrefixRule> rules;
  if (expected_.size() > kMostKeys || given_.size() > kMostKeys) return rules;
  while (rules.size() < kMostRules) {
    PrefixRule best;
    std::size_t best_matching = matching_;
    for (const NamedShape* stray : strays()) {
      for (PrefixRule& rule : candidates_for(*stray)) {
        const std::size_t matching = matching_after(rule);
        if (matching <= best_matching) continue;
        best_matching = matching;
        best = std::move(rule);
      }
    }
    if (best_matching == matching_) break;
    matching_ = best_matching;
    for (NamedShape& entry : given_) entry.name = renamed(entry.name, {&best, 1});
    rules.push_back(std::move(best));
  }
  return rules;
}

std::vector<const NamedShape*> PrefixSearch::strays() const {
  std::vector<const NamedShape*> strays;
  for (const NamedShape& entry : given_) {
    if (expects(entry)) continue;
    strays.push_back(&entry);
    if (strays.size() == kMostStrays) break;
  }
  return strays;
}

std::vector<PrefixRule> PrefixSearch::candidates_for(const NamedShape& stray) const {
  std::vector<std::pair<std::size_t, PrefixRule>> found;
  for (const NamedShape& entry : expected_) {
    if (entry.shape != stray.shape) continue;
    const std::size_t longest = common_end(stray.name, entry.name);
    // One part more in front, for where the shorter prefix is right for other keys as it is.
    for (const std::size_t end : {longest, without_first_part(stray.name, longest)}) {
      if (end == 0) continue;
      PrefixRule rule{stray.name.substr(0, stray.name.size() - end),
                      entry.name.substr(0, entry.name.size() - end)};
      if (is_plausible(rule)) found.emplace_back(end, std::move(rule));
    }
  }
  // The longer the common end, the less the rule changes.
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<PrefixRule> rules;
  for (auto& [end, rule] : found) {
    if (rules.size() == kMostCandidates) break;
    rules.push_back(std::move(rule));
  }
  return rules;
}

// What is neither a prefix more or less nor one that has moved is only believed of all keys: else
// any two tensors of one shape would do.
bool PrefixSearch::is_plausible(const PrefixRule& rule) const {
  std::vector<std::string_view> from = parts_of(rule.from);
  std::vector<std::string_view> to = parts_of(rule.to);
  if (is_subsequence(from, to) || is_subsequence(to, from)) return true;
  std::sort(from.begin(), from.end());
  std::sort(to.begin(), to.end());
  return from == to || (all_begin_with(given_, rule.from) && all_begin_with(expected_, rule.to));
}

std::size_t PrefixSearch::matching_after(const PrefixRule& rule) const {
  std::size_t matching = 0;
  std::unordered_set<std::string> names;
  for (const NamedShape& entry : given_) {
    NamedShape after{renamed(entry.name, {&rule, 1}), entry.shape};
    if (expects(after)) ++matching;
    if (!names.insert(std::move(after.name)).second) return 0;
  }
  return matching;
}

}  // namespace ringside
