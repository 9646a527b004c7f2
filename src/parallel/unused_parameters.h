// find_unused_parameters and static_graph: which parameters take part in an iteration, on this rank
// and on any.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ringside/comm.h"
#include "ringside/nn.h"
#include "ringside/world.h"

namespace ringside {

/// Indices of the parameters that no path of the graph leads to from `output`, ascending.
/// [reducer.cpp, search_unused_parameters]
std::vector<std::size_t> parameters_not_reached(const Tensor& output,
                                                std::span<const NamedTensor> parameters);

/// Per parameter, whether it got a gradient; summed over ranks once per iteration and looked at
/// only if a parameter had none here. [reducer.cpp, local_used_map_]
class UsageMap {
 public:
  UsageMap(Rank& rank, std::size_t parameters) : rank_(rank), ranks_using_(parameters, 0) {}

  /// On this rank; several times count once.
  void mark(std::size_t parameter) { ranks_using_[parameter] = 1; }
  /// Enqueues the sum over ranks.
  void launch();
  /// Whether any rank used it, after launch(). Blocks the host, once, if this rank did not.
  bool used_anywhere(std::size_t parameter);
  /// For the next iteration.
  void reset();

 private:
  Rank& rank_;
  std::vector<int> ranks_using_;  // 0 or 1 until the sum is read
  Tensor summed_;
  Work work_;
  bool read_ = false;
};

}  // namespace ringside
