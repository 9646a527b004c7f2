// The longest element ranges that no message cuts: what is true of one element of such a range is
// true of all. Symbolic execution (the checker, the fused executor) works on them, so that its cost
// does not depend on the number of elements.
#pragma once

#include <cstddef>
#include <vector>

#include "ringside/schedule.h"

namespace ringside::schedule {

class ElementaryRanges {
 public:
  explicit ElementaryRanges(const Schedule& schedule);

  std::size_t size() const { return borders_.empty() ? 0 : borders_.size() - 1; }
  Range operator[](std::size_t index) const { return {borders_[index], borders_[index + 1]}; }
  /// The indices of the elementary ranges that make up `range`, which must begin and end at
  /// borders.
  Range within(Range range) const;

 private:
  std::vector<std::size_t> borders_;  // ascending, 0 first
};

}  // namespace ringside::schedule
