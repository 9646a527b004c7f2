// Finds the prefix rules that make given keys match expected ones.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/state_keys.h"

namespace ringside {

/// One search. Greedy: the rule that makes most keys match, again and again, as long as one helps.
/// Bounded work, whatever the keys are.
class PrefixSearch {
 public:
  /// Both must outlive the search.
  PrefixSearch(std::span<const NamedShape> expected, std::span<const NamedShape> given);

  /// Empty where no rule makes more keys match than now.
  std::vector<PrefixRule> find();
  /// The keys that match after what find() returned.
  std::size_t matching() const { return matching_; }

 private:
  std::vector<PrefixRule> candidates_for(const NamedShape& stray) const;
  bool is_plausible(const PrefixRule& rule) const;
  bool expects(const NamedShape& entry) const;
  /// 0 where the rule makes one key of two.
  std::size_t matching_after(const PrefixRule& rule) const;
  std::vector<const NamedShape*> strays() const;

  std::span<const NamedShape> expected_;
  std::unordered_map<std::string_view, const NamedShape*> expected_by_name_;
  std::vector<NamedShape> given_;  // as renamed so far
  std::size_t matching_ = 0;
};

}  // namespace ringside
