// Collectives with a naive reference: what a case is, what every rank brings, and what every rank
// must get, straight from the definitions of the operations.

#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/validate.h"
#include "ringside/comm.h"
#include "ringside/schedule.h"

namespace ringside::test {

struct CollectiveCase {
  Operation operation = Operation::kAllReduce;
  Algorithm algorithm = Algorithm::kAutomatic;
  int ranks = 1;
  std::size_t count = 0;
  DType dtype = DType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  std::vector<std::size_t> counts;
  int pieces = 1;
  int node_size = 0;
  std::uint64_t seed = 0;
};

inline std::string describe(const CollectiveCase& c) {
  return fmt::format("{} {}, {} ranks, count {}{}, {}, {}, root {}, {} pieces, node size {}",
                     to_string(c.operation), to_string(c.algorithm), c.ranks, c.count, c.counts,
                     to_string(c.dtype), to_string(c.op), c.root, c.pieces, c.node_size);
}

/// The call without its buffers.
inline CollectiveCall bare_call(const CollectiveCase& c) {
  CollectiveCall call;
  call.operation = c.operation;
  call.algorithm = c.algorithm;
  call.count = c.count;
  call.dtype = c.dtype;
  call.op = c.op;
  call.root = c.root;
  call.counts = c.counts;
  return call;
}

/// Element `index` of what `rank` brings: a number that looks random and is the same everywhere
/// (splitmix64). Floats are in [-1, 1) with all bits used, integers in [-1000, 1000].
template <typename T>
T contribution(std::uint64_t seed, int rank, std::size_t index) {
  std::uint64_t z = seed * 0x9E3779B97F4A7C15 + static_cast<std::uint64_t>(rank + 1) * 1000003 +
                    index * 0xD1B54A32D192ED03;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(z % 2001) - 1000);
  } else {
    return static_cast<T>(static_cast<double>(z >> 11) * 0x1p-52 - 1.0);
  }
}

inline std::size_t block_count(const CollectiveCase& c, int rank) {
  return c.counts.empty() ? c.count : c.counts[static_cast<std::size_t>(rank)];
}
inline std::size_t block_begin(const CollectiveCase& c, int rank) {
  std::size_t begin = 0;
  for (int r = 0; r < rank; ++r) begin += block_count(c, r);
  return begin;
}

/// op over all ranks' element `index`, in double; of whole numbers wrapped around as T does.
template <typename T>
double reduced_integers(const CollectiveCase& c, std::size_t index) {
  using Unsigned = std::make_unsigned_t<T>;
  T result = contribution<T>(c.seed, 0, index);
  for (int rank = 1; rank < c.ranks; ++rank) {
    const T value = contribution<T>(c.seed, rank, index);
    const auto a = static_cast<Unsigned>(result);
    const auto b = static_cast<Unsigned>(value);
    result = c.op == ReduceOp::kMin    ? std::min(result, value)
             : c.op == ReduceOp::kMax  ? std::max(result, value)
             : c.op == ReduceOp::kProd ? static_cast<T>(a * b)
                                       : static_cast<T>(a + b);
  }
  return std::trunc(static_cast<double>(result) / (c.op == ReduceOp::kAvg ? c.ranks : 1));
}

template <typename T>
double reduced(const CollectiveCase& c, std::size_t index) {
  if constexpr (std::is_integral_v<T>) return reduced_integers<T>(c, index);
  double result = static_cast<double>(contribution<T>(c.seed, 0, index));
  for (int rank = 1; rank < c.ranks; ++rank) {
    const auto value = static_cast<double>(contribution<T>(c.seed, rank, index));
    if (c.op == ReduceOp::kMin) {
      result = std::min(result, value);
    } else if (c.op == ReduceOp::kMax) {
      result = std::max(result, value);
    } else if (c.op == ReduceOp::kProd) {
      result *= value;
    } else {
      result += value;
    }
  }
  if (c.op != ReduceOp::kAvg) return result;
  return result / c.ranks;
}

/// Element `index` of rank's recv.
template <typename T>
double expected(const CollectiveCase& c, int rank, std::size_t index) {
  switch (c.operation) {
    case Operation::kBroadcast:
      return static_cast<double>(contribution<T>(c.seed, c.root, index));
    case Operation::kScatter:
      return static_cast<double>(contribution<T>(c.seed, c.root, block_begin(c, rank) + index));
    case Operation::kGather:
    case Operation::kAllGather: {
      int owner = 0;
      while (index >= block_begin(c, owner) + block_count(c, owner)) ++owner;
      return static_cast<double>(contribution<T>(c.seed, owner, index - block_begin(c, owner)));
    }
    case Operation::kAllToAll: {
      const auto block = static_cast<std::size_t>(rank) * c.count;
      return static_cast<double>(
          contribution<T>(c.seed, static_cast<int>(index / c.count), block + index % c.count));
    }
    case Operation::kReduceScatter:
      return reduced<T>(c, block_begin(c, rank) + index);
    case Operation::kReduce:
    case Operation::kAllReduce:
    case Operation::kBarrier:
    case Operation::kSend:
    case Operation::kRecv:
      break;
  }
  return reduced<T>(c, index);
}

/// Integers, minima and maxima are exact; sums of floats depend on their order.
template <typename T>
bool agrees(const CollectiveCase& c, T value, double wanted) {
  if (std::is_integral_v<T> || !combines(c.operation) || c.op == ReduceOp::kMin ||
      c.op == ReduceOp::kMax) {
    return static_cast<double>(value) == wanted;
  }
  const double unit = std::is_same_v<T, double>    ? 0x1p-51
                      : std::is_same_v<T, float>   ? 0x1p-22
                      : std::is_same_v<T, Float16> ? 0x1p-9
                                                   : 0x1p-6;
  const double tolerance = c.ranks * unit;
  return std::abs(static_cast<double>(value) - wanted) <= tolerance;
}

/// The first element of rank's result that is wrong, in words; empty if all are right.
template <typename T>
std::string first_fault(const CollectiveCase& c, int rank, const T* values) {
  const std::size_t count = buffer_sizes(bare_call(c), rank, c.ranks).recv;
  for (std::size_t i = 0; i < count; ++i) {
    const double wanted = expected<T>(c, rank, i);
    if (!agrees(c, values[i], wanted)) {
      return fmt::format("{}: rank {}, element {} is {}, expected {}", describe(c), rank, i,
                         static_cast<double>(values[i]), wanted);
    }
  }
  return {};
}

inline constexpr Operation kCollectives[] = {
    Operation::kBroadcast,     Operation::kScatter,   Operation::kGather,
    Operation::kReduce,        Operation::kAllReduce, Operation::kAllGather,
    Operation::kReduceScatter, Operation::kBarrier,   Operation::kAllToAll};
inline constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64,  DType::kInt32, DType::kInt64,
                                    DType::kFloat16, DType::kBFloat16, DType::kUInt8};
inline constexpr ReduceOp kReduceOps[] = {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kMin,
                                          ReduceOp::kMax, ReduceOp::kProd};
inline constexpr std::size_t kCounts[] = {0, 1, 7, 1000};

}  // namespace ringside::test
