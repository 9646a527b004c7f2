// DDP's bucket assignment, as torch.distributed computes it.
#include <algorithm>

#include "ringside/strategy.h"

namespace ringside {

BucketAssignment assign_buckets(const std::vector<std::size_t>& tensor_bytes,
                                const std::vector<std::size_t>& limits) {
  BucketAssignment assignment;
  std::vector<std::size_t> open;
  std::size_t open_bytes = 0;
  std::size_t limit = 0;  // index into limits
  const auto close = [&] {
    assignment.buckets.push_back(std::move(open));
    assignment.limits.push_back(limits[limit]);
    open.clear();
    open_bytes = 0;
  };
  for (std::size_t i = 0; i < tensor_bytes.size(); ++i) {
    open.push_back(i);
    open_bytes += tensor_bytes[i];
    if (open_bytes >= limits[limit]) {
      close();
      limit = std::min(limit + 1, limits.size() - 1);
    }
  }
  if (!open.empty()) close();
  return assignment;
}

}  // namespace ringside
