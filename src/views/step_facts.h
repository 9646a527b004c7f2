// What the ops of one phase of a step say, gathered for a picture: who worked, what was sent.
//
// Pure queries of a Trace. Collectives are expanded by their schedules and counted once for all
// ranks; nothing here knows a strategy.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringside/trace.h"

namespace ringside {

/// What one rank sent to another.
struct Sent {
  std::size_t messages = 0;
  std::size_t bytes = 0;
};

struct PhaseFacts {
  std::vector<const TraceOp*> ops;
  std::map<std::pair<int, int>, Sent> sent;  ///< by (source, destination) in world ranks
  std::vector<const TraceOp*> collectives;   ///< one op of each, in program order

  std::size_t messages() const;
  std::size_t bytes() const;
  std::size_t sent_by(int rank) const;
  std::size_t received_by(int rank) const;
  /// True if `rank` has an op other than waiting, or sends or receives.
  bool is_active(int rank) const;
  /// The first collective that has a root; null if none has.
  const TraceCollective* rooted() const;
  /// World rank of its root.
  std::optional<int> root() const;
};

/// The ops of `step` for which `wanted(op)` holds.
template <typename Predicate>
std::vector<const TraceOp*> select_ops(const Trace& trace, int step, const Predicate& wanted) {
  std::vector<const TraceOp*> ops;
  for (const TraceOp& op : trace.ops) {
    if (op.step == step && wanted(op)) ops.push_back(&op);
  }
  return ops;
}

PhaseFacts gather_facts(std::vector<const TraceOp*> ops);
PhaseFacts facts_of_phase(const Trace& trace, int step, Phase phase);

/// Throws Error(kInvalidArgument) that names the recorded steps unless `step` is one of them.
void require_step(const Trace& trace, int step);

/// "64×1000"; "scalar" without dimensions.
std::string shape_text(const Shape& shape);

/// The first tensor that a compute op of `rank` reads: the input of a forward phase.
const TraceTensor* first_read(const PhaseFacts& facts, int rank);
/// The largest tensor written by an op of `rank` of one of the kinds that move data.
const TraceTensor* largest_arrival(const PhaseFacts& facts, int rank);
/// The value of the last one-element tensor that `rank` wrote, where it was recorded.
std::optional<double> scalar_result(const PhaseFacts& facts, int rank);

}  // namespace ringside
