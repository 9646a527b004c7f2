// The keys of two states compared: what a model expects and what a file (or another state) has.
// Names and shapes only. What differs by a prefix alone, or by its place, is found and offered as
// rules; nothing is renamed unasked.
//
// A rule changes the beginning of a key and nothing else. The popular k.replace('module.', '')
// breaks every key that has these letters further on: "module.submodule.weight" becomes
// "subweight".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ringside {

/// A key of a state_dict and its tensor's sizes; a scalar has none.
struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// "64x10"; "scalar" without dimensions.
std::string shape_text(std::span<const std::int64_t> shape);

/// Keys that begin with `from` begin with `to` instead; others stay. Either may be empty: without
/// `from` every key gets `to` in front.
struct PrefixRule {
  std::string from;
  std::string to;
  bool operator==(const PrefixRule&) const = default;
};

/// `key` after all rules, each applied to what the one before it has made.
std::string renamed(std::string_view key, std::span<const PrefixRule> rules);

/// The same for all entries. Throws Error(kInvalidInput) with both keys where two become one, and
/// for a rule that no key begins with, and with the key of which nothing is left.
std::vector<NamedShape> renamed(std::span<const NamedShape> entries,
                                std::span<const PrefixRule> rules);

struct KeyComparison {
  struct OtherShape {
    std::string name;
    std::vector<std::int64_t> expected;
    std::vector<std::int64_t> given;
  };
  std::size_t matching = 0;             ///< same name, same shape
  std::vector<std::string> missing;     ///< expected, not given; in the order expected
  std::vector<std::string> unexpected;  ///< given, not expected; in the order given
  std::vector<OtherShape> other_shapes;
  /// For the given keys, so that more of them match; empty where none would help. A prefix that
  /// goes, comes, moves within the key, or is another one for all keys.
  std::vector<PrefixRule> suggestion;
  std::size_t matching_if_followed = 0;  ///< same name, same shape, after the suggestion

  bool same() const { return missing.empty() && unexpected.empty() && other_shapes.empty(); }
  bool same_if_followed() const;
};

/// Names on each side are unique.
KeyComparison compare_keys(std::span<const NamedShape> expected, std::span<const NamedShape> given);

/// In PyTorch's words: "Missing key(s) in state_dict: 0.bias; Unexpected key(s) in state_dict:
/// module.0.bias; size mismatch for 1.weight: 1x3 expected, 3x1 given". Long lists are cut off.
std::string difference_text(const KeyComparison& comparison);

/// The suggestion in words: "with 'module.*' renamed to '*' 4 of 4 expected keys match"; empty
/// without one.
std::string suggestion_words(const KeyComparison& comparison);

/// The suggestion as options: "--strip-prefix module.", "--add-prefix module." or
/// "--rename-prefix encoder.module.=encoder.,a.=b."; empty without one.
std::string suggestion_options(const KeyComparison& comparison);
/// The same where the given keys were renamed already: as what --rename-prefix, which comes last,
/// must be, `in_use` being what it is now.
std::string further_suggestion_options(const KeyComparison& comparison, std::string_view in_use);

}  // namespace ringside
