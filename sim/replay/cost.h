// What an op costs on the minimal machine of constant rates (timeline.h), in seconds.
#pragma once

#include <cstddef>
#include <vector>

#include "ringside/timeline.h"

namespace ringside {

class CostModel {
 public:
  /// Throws Error(kInvalidArgument) for rates that are not positive or overheads that are negative.
  CostModel(const Trace& trace, const Rates& rates);

  /// From its start to its end: of a collective from the moment all ranks are there.
  double seconds(const TraceOp& op);

 private:
  double compute(const TraceOp& op) const;
  double copy(const TraceOp& op) const;
  double collective(const TraceCollective& collective);
  /// The bytes that the busiest port of a round sends or receives.
  std::size_t busiest_port(const Round& round, std::size_t element);

  const Rates& rates_;
  std::vector<std::size_t> sent_;      // per rank, in the present round
  std::vector<std::size_t> received_;  // per rank, in the present round
};

}  // namespace ringside
