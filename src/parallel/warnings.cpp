#include "parallel/warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/communicator_name.h"

namespace ringside {

void Warnings::tell(const std::string& text) {
  const std::scoped_lock lock(mutex_);
  if (std::find(told_.begin(), told_.end(), text) != told_.end()) return;
  told_.push_back(text);
  if (observer_.warning) observer_.warning(text);
}

void Warnings::tell_of_rank(const std::string& text, int rank) {
  const std::scoped_lock lock(mutex_);
  auto known = std::find_if(of_ranks_.begin(), of_ranks_.end(),
                            [&](const OfRanks& warning) { return warning.text == text; });
  if (known == of_ranks_.end()) known = of_ranks_.insert(known, OfRanks{text, {}, false});
  std::vector<int>& ranks = known->ranks;
  const auto place = std::lower_bound(ranks.begin(), ranks.end(), rank);
  if (place != ranks.end() && *place == rank) return;
  ranks.insert(place, rank);
  if (static_cast<int>(ranks.size()) == local_ranks_) pass_on(*known);
}

void Warnings::tell_rest() {
  const std::scoped_lock lock(mutex_);
  std::sort(of_ranks_.begin(), of_ranks_.end(),
            [](const OfRanks& a, const OfRanks& b) { return a.text < b.text; });
  for (OfRanks& warning : of_ranks_) {
    if (!warning.told) pass_on(warning);
  }
}

void Warnings::pass_on(OfRanks& warning) {
  const bool all = ranks_ > 1 && static_cast<int>(warning.ranks.size()) == ranks_;
  warning.told = true;
  told_.push_back(
      fmt::format("{} ({})", warning.text,
                  all ? fmt::format("all {} ranks", ranks_) : ranks_text(warning.ranks)));
  if (observer_.warning) observer_.warning(told_.back());
}

}  // namespace ringside
