// Body of closed_form.h. As make_schedule does, the operations without an algorithm of their own
// are put together from those that have one.
#include "cli/closed_form.h"

#include <algorithm>
#include <bit>

#include "schedule/request.h"

namespace ringside::cli {
namespace {

struct Numbers {
  std::size_t n;       // ranks
  std::size_t bytes;   // S
  std::size_t pieces;  // k
  std::size_t nodes;   // N of the hierarchical algorithm, p ranks in each
  std::size_t places;  // p
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
    case Algorithm::kHierarchical:
      return {"ceil(log2 N) + ceil(log2 p)", ceil_log2(x.nodes) + ceil_log2(x.places), "(n-1)S",
              bytes};
    case Algorithm::kDoubleTree:
      return {x.pieces == 1 ? "ceil(log2 n)" : "(ceil(log2 n)+k-1)", ceil_log2(x.n) + x.pieces - 1,
              "(n-1)S", bytes};
    case Algorithm::kStar:
      return {"1", 1, "(n-1)S", bytes};
    case Algorithm::kTree:
      return {"ceil(log2 n)", ceil_log2(x.n), "(n-1)S", bytes};
    default:  // the ring's chain
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
    default:  // only the tree is left
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
    if (text == "1") return std::string("2");
    const bool is_sum = text.starts_with("n-") || text.find(" + ") != std::string::npos;
    return is_sum ? "2(" + text + ")" : "2" + text;
  };
  return {doubled(a.rounds_formula), 2 * a.rounds, doubled(a.bytes_formula), 2 * a.bytes};
}

// Reduce-scatter, and all-gather, its mirror, of the algorithms that have them as their own.
ClosedForm half(Algorithm algorithm, const Numbers& x) {
  const std::size_t bytes = (x.n - 1) * x.bytes;
  const std::size_t acting = std::bit_floor(x.n);
  const std::size_t pairs = x.n - acting;
  switch (algorithm) {
    case Algorithm::kHierarchical:
      return {"N-1 + p-1", x.nodes - 1 + x.places - 1, "(n-1)S", bytes};
    case Algorithm::kHalvingDoubling:
      if (pairs == 0) return {"log2 n", ceil_log2(x.n), "(n-1)S", bytes};
      return {"floor(log2 n)+2", ceil_log2(acting) + 2, "(n-1)S + (n-2^floor(log2 n))S/n",
              bytes + pairs * (x.bytes / x.n)};
    default:  // ring and direct
      break;
  }
  return {"n-1", x.n - 1, "(n-1)S", bytes};
}

// What is reduce-scatter and all-gather: halving-doubling needs its pairs only at both ends.
ClosedForm all_reduce(Algorithm algorithm, const Numbers& x) {
  const std::size_t bytes = 2 * (x.n - 1) * x.bytes;
  if (algorithm == Algorithm::kHalvingDoubling && !std::has_single_bit(x.n)) {
    return {"2floor(log2 n)+2", 2 * ceil_log2(std::bit_floor(x.n)) + 2, "2(n-1)S", bytes};
  }
  return twice(half(algorithm, x));
}

bool has_halves(Algorithm algorithm) {
  return algorithm == Algorithm::kRing || algorithm == Algorithm::kHalvingDoubling ||
         algorithm == Algorithm::kHierarchical || algorithm == Algorithm::kDirect;
}

}  // namespace

std::optional<ClosedForm> closed_form(const Schedule& schedule) {
  const ScheduleRequest& request = schedule.request;
  if (request.ranks == 1 || !request.counts.empty()) return std::nullopt;
  const Algorithm algorithm = request.algorithm;
  const Numbers x{static_cast<std::size_t>(request.ranks),
                  schedule::rank_buffer_elements(request) * size_of(request.dtype),
                  static_cast<std::size_t>(request.pieces),
                  static_cast<std::size_t>(request.ranks / std::max(1, request.node_size)),
                  static_cast<std::size_t>(std::max(1, request.node_size))};
  switch (request.operation) {
    case Operation::kBroadcast:
    case Operation::kReduce:
      return whole_buffer(algorithm, x);
    case Operation::kScatter:
    case Operation::kGather:
      return one_block_each(algorithm, x);
    case Operation::kAllGather:
      return has_halves(algorithm)
                 ? half(algorithm, x)
                 : in_sequence(one_block_each(algorithm, x), whole_buffer(algorithm, x));
    case Operation::kReduceScatter:
      return has_halves(algorithm)
                 ? half(algorithm, x)
                 : in_sequence(whole_buffer(algorithm, x), one_block_each(algorithm, x));
    case Operation::kAllToAll:
      return half(algorithm, x);
    case Operation::kSend:
    case Operation::kRecv:
      return ClosedForm{"1", 1, "S", x.bytes};
    case Operation::kAllReduce:
    case Operation::kBarrier:
      break;
  }
  return has_halves(algorithm) ? all_reduce(algorithm, x) : twice(whole_buffer(algorithm, x));
}

}  // namespace ringside::cli
