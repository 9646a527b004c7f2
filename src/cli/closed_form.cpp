// Body of closed_form.h. As make_schedule does, the operations without an algorithm of their own
// are put together from those that have one.
#include "cli/closed_form.h"

#include <bit>

namespace ringside::cli {
namespace {

struct Numbers {
  std::size_t n;       // ranks
  std::size_t bytes;   // S
  std::size_t pieces;  // k
};

std::size_t ceil_log2(std::size_t n) { return static_cast<std::size_t>(std::bit_width(n - 1)); }

// Through how many links of a binomial tree the blocks travel: block v takes one per one bit of v.
std::size_t ones_below(std::size_t n) {
  std::size_t ones = 0;
  for (std::size_t v = 1; v < n; ++v) ones += static_cast<std::size_t>(std::popcount(v));
  return ones;
}

// Broadcast, and reduce, its mirror.
ClosedForm whole_buffer(Algorithm algorithm, const Numbers& x) {
  const std::size_t bytes = (x.n - 1) * x.bytes;
  switch (algorithm) {
    case Algorithm::kStar:
      return {"1", 1, "(n-1)S", bytes};
    case Algorithm::kTree:
      return {"ceil(log2 n)", ceil_log2(x.n), "(n-1)S", bytes};
    case Algorithm::kRing:
    case Algorithm::kAutomatic:
      break;
  }
  return {x.pieces == 1 ? "n-1" : "n-2+k", x.n - 2 + x.pieces, "(n-1)S", bytes};
}

// Scatter, and gather, its mirror.
ClosedForm one_block_each(Algorithm algorithm, const Numbers& x) {
  const std::size_t block = x.bytes / x.n;
  switch (algorithm) {
    case Algorithm::kStar:
      return {"1", 1, "(n-1)S/n", (x.n - 1) * block};
    case Algorithm::kTree:
    case Algorithm::kRing:  // has none
    case Algorithm::kAutomatic:
      break;
  }
  return {"ceil(log2 n)", ceil_log2(x.n), "S/n times the ones in 1..n-1 in binary",
          ones_below(x.n) * block};
}

ClosedForm in_sequence(const ClosedForm& a, const ClosedForm& b) {
  return {a.rounds_formula + " + " + b.rounds_formula, a.rounds + b.rounds,
          a.bytes_formula + " + " + b.bytes_formula, a.bytes + b.bytes};
}

ClosedForm twice(const ClosedForm& a) {
  const auto doubled = [](const std::string& text) {
    return text == "1" ? "2" : text == "n-1" ? "2(n-1)" : "2" + text;
  };
  return {doubled(a.rounds_formula), 2 * a.rounds, doubled(a.bytes_formula), 2 * a.bytes};
}

// Ring reduce-scatter, and ring all-gather.
ClosedForm ring_half(const Numbers& x) { return {"n-1", x.n - 1, "(n-1)S", (x.n - 1) * x.bytes}; }

}  // namespace

std::optional<ClosedForm> closed_form(const Schedule& schedule) {
  const ScheduleRequest& request = schedule.request;
  if (request.ranks == 1 || !request.counts.empty()) return std::nullopt;
  const Algorithm algorithm = request.algorithm;
  const Numbers x{static_cast<std::size_t>(request.ranks),
                  schedule.elements * size_of(request.dtype),
                  static_cast<std::size_t>(request.pieces)};
  const bool ring = algorithm == Algorithm::kRing;
  switch (request.operation) {
    case Operation::kBroadcast:
    case Operation::kReduce:
      return whole_buffer(algorithm, x);
    case Operation::kScatter:
    case Operation::kGather:
      return one_block_each(algorithm, x);
    case Operation::kAllGather:
      return ring ? ring_half(x)
                  : in_sequence(one_block_each(algorithm, x), whole_buffer(algorithm, x));
    case Operation::kReduceScatter:
      return ring ? ring_half(x)
                  : in_sequence(whole_buffer(algorithm, x), one_block_each(algorithm, x));
    case Operation::kSend:
    case Operation::kRecv:
      return ClosedForm{"1", 1, "S", x.bytes};
    case Operation::kAllReduce:
    case Operation::kBarrier:
      break;
  }
  return twice(ring ? ring_half(x) : whole_buffer(algorithm, x));
}

}  // namespace ringside::cli
