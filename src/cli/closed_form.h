// What a collective costs by formula: rounds and bytes from n (ranks), S (bytes of the full
// buffer), k (pieces), N (nodes) and p (ranks in each), shown beside the counted cost.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "ringside/schedule.h"

namespace ringside::cli {

struct ClosedForm {
  std::string rounds_formula;  ///< "2(n-1)"
  std::size_t rounds = 0;
  std::string bytes_formula;  ///< of all messages: "2(n-1)S"
  std::size_t bytes = 0;
};

/// None for a single rank (nothing moves) and for per-rank counts (no formula is shorter than the
/// sum). Sources: docs/communication.md.
std::optional<ClosedForm> closed_form(const Schedule& schedule);

}  // namespace ringside::cli
