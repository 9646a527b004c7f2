// The nearest of a list of names to a misspelt one, for hints: "did you mean --batch-size?".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ringside {

/// The candidate with the smallest edit distance to `name` (insertions, deletions, substitutions
/// and swaps of neighbours count one each), the first among equals; empty if none is near: at most
/// a third of the longer name's letters, and at least one, may differ. A candidate that starts with
/// `name` (three letters or more) is near as well. Capitals count as small letters.
std::string nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace ringside
