#include "core/state_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/clean_text.h"
#include "core/prefix_search.h"
#include "ringside/error.h"

namespace ringside {
namespace {

constexpr std::size_t kMostShown = 12;  // of a list in a message

std::string shown(const std::vector<std::string>& items) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(items.size(), kMostShown); ++i) {
    names.push_back(shown_name(items[i]));
  }
  if (items.size() <= kMostShown) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names, ", "), items.size() - kMostShown);
}

/// One that an option on a command line can repeat as it is shown.
bool is_presentable(const PrefixRule& rule) {
  return shown_name(rule.from) == rule.from && shown_name(rule.to) == rule.to;
}

std::size_t expected_count(const KeyComparison& comparison) {
  return comparison.matching + comparison.missing.size() + comparison.other_shapes.size();
}

}  // namespace

std::string shape_text(std::span<const std::int64_t> shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string renamed(std::string_view key, std::span<const PrefixRule> rules) {
  std::string name(key);
  for (const PrefixRule& rule : rules) {
    if (name.starts_with(rule.from)) name.replace(0, rule.from.size(), rule.to);
  }
  return name;
}

namespace {

void check_every_rule_finds_a_key(std::span<const NamedShape> entries,
                                  std::span<const PrefixRule> rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const bool found = std::any_of(entries.begin(), entries.end(), [&](const NamedShape& entry) {
      return renamed(entry.name, rules.first(i)).starts_with(rules[i].from);
    });
    if (found || entries.empty()) continue;
    throw Error(
        ErrorKind::kInvalidInput,
        fmt::format("no key begins with '{}', which is to become '{}'", shown_name(rules[i].from),
                    shown_name(rules[i].to)),
        fmt::format("the first key is '{}'", shown_name(renamed(entries[0].name, rules.first(i)))));
  }
}

}  // namespace

std::vector<NamedShape> renamed(std::span<const NamedShape> entries,
                                std::span<const PrefixRule> rules) {
  check_every_rule_finds_a_key(entries, rules);
  std::vector<NamedShape> result;
  std::unordered_map<std::string, std::string_view> origins;
  for (const NamedShape& entry : entries) {
    std::string name = renamed(entry.name, rules);
    if (name.empty() && !entry.name.empty()) {
      throw Error(ErrorKind::kInvalidInput,
                  fmt::format("renaming leaves nothing of '{}'", shown_name(entry.name)),
                  "name a shorter prefix, or take the key out");
    }
    const auto [origin, is_new] = origins.emplace(name, entry.name);
    if (!is_new) {
      throw Error(ErrorKind::kInvalidInput,
                  fmt::format("renaming makes one key, '{}', of two: '{}' and '{}'",
                              shown_name(name), shown_name(origin->second), shown_name(entry.name)),
                  "name a prefix that only the keys you mean begin with");
    }
    result.push_back({std::move(name), entry.shape});
  }
  return result;
}

bool KeyComparison::same_if_followed() const {
  const std::size_t expected = expected_count(*this);
  const std::size_t given = matching + unexpected.size() + other_shapes.size();
  return matching_if_followed == expected && matching_if_followed == given;
}

KeyComparison compare_keys(std::span<const NamedShape> expected,
                           std::span<const NamedShape> given) {
  KeyComparison comparison;
  std::unordered_map<std::string_view, const NamedShape*> given_by_name;
  for (const NamedShape& entry : given) given_by_name.emplace(entry.name, &entry);
  std::unordered_set<std::string_view> expected_names;
  for (const NamedShape& entry : expected) {
    expected_names.insert(entry.name);
    const auto found = given_by_name.find(entry.name);
    if (found == given_by_name.end()) {
      comparison.missing.push_back(entry.name);
    } else if (found->second->shape != entry.shape) {
      comparison.other_shapes.push_back({entry.name, entry.shape, found->second->shape});
    } else {
      ++comparison.matching;
    }
  }
  for (const NamedShape& entry : given) {
    if (!expected_names.contains(entry.name)) comparison.unexpected.push_back(entry.name);
  }
  comparison.matching_if_followed = comparison.matching;
  if (comparison.same()) return comparison;
  PrefixSearch search(expected, given);
  comparison.suggestion = search.find();
  comparison.matching_if_followed = search.matching();
  return comparison;
}

std::string difference_text(const KeyComparison& comparison) {
  std::vector<std::string> parts;
  if (!comparison.missing.empty()) {
    parts.push_back(fmt::format("Missing key(s) in state_dict: {}", shown(comparison.missing)));
  }
  if (!comparison.unexpected.empty()) {
    parts.push_back(
        fmt::format("Unexpected key(s) in state_dict: {}", shown(comparison.unexpected)));
  }
  std::vector<std::string> shapes;
  for (const KeyComparison::OtherShape& entry : comparison.other_shapes) {
    shapes.push_back(fmt::format("{}: {} expected, {} given", shown_name(entry.name),
                                 shape_text(entry.expected), shape_text(entry.given)));
  }
  if (!shapes.empty()) parts.push_back(fmt::format("size mismatch for {}", shown(shapes)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string suggestion_words(const KeyComparison& comparison) {
  if (comparison.suggestion.empty()) return {};
  std::vector<std::string> rules;
  for (const PrefixRule& rule : comparison.suggestion) {
    rules.push_back(
        fmt::format("'{}*' renamed to '{}*'", shown_name(rule.from), shown_name(rule.to)));
  }
  return fmt::format("with {} {} of {} expected keys match", fmt::join(rules, ", then "),
                     comparison.matching_if_followed, expected_count(comparison));
}

std::string suggestion_options(const KeyComparison& comparison) {
  const std::vector<PrefixRule>& rules = comparison.suggestion;
  if (rules.empty() || !std::all_of(rules.begin(), rules.end(), is_presentable)) return {};
  if (rules.size() == 1 && rules[0].to.empty()) return "--strip-prefix " + rules[0].from;
  if (rules.size() == 1 && rules[0].from.empty()) return "--add-prefix " + rules[0].to;
  return further_suggestion_options(comparison, {});
}

std::string further_suggestion_options(const KeyComparison& comparison, std::string_view in_use) {
  const std::vector<PrefixRule>& rules = comparison.suggestion;
  if (rules.empty() || !std::all_of(rules.begin(), rules.end(), is_presentable)) return {};
  std::vector<std::string> pairs;
  if (!in_use.empty()) pairs.emplace_back(in_use);
  for (const PrefixRule& rule : rules) pairs.push_back(rule.from + "=" + rule.to);
  return fmt::format("--rename-prefix {}", fmt::join(pairs, ","));
}

}  // namespace ringside
