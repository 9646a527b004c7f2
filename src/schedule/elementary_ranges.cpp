#include "schedule/elementary_ranges.h"

#include <algorithm>

namespace ringside::schedule {

ElementaryRanges::ElementaryRanges(const Schedule& schedule) {
  borders_ = {0, schedule.elements};
  const auto add = [&](Range range) {
    borders_.push_back(range.begin);
    borders_.push_back(range.end);
  };
  for (const Range block : schedule.blocks) add(block);
  for (const Round& round : schedule.rounds) {
    for (const Message& message : round) add(message.range);
  }
  std::sort(borders_.begin(), borders_.end());
  borders_.erase(std::unique(borders_.begin(), borders_.end()), borders_.end());
}

Range ElementaryRanges::within(Range range) const {
  const auto index_of = [&](std::size_t border) {
    return static_cast<std::size_t>(std::lower_bound(borders_.begin(), borders_.end(), border) -
                                    borders_.begin());
  };
  return {index_of(range.begin), index_of(range.end)};
}

}  // namespace ringside::schedule
