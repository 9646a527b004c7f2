// Counted rounds, messages and bytes equal the closed forms, for every algorithm and operation and
// 1 to 16 ranks. n ranks, s elements of the full buffer, k pieces, d = ceil(log2 n).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ringside/schedule.h"

namespace ringside {
namespace {

constexpr int kMaxRanks = 16;

std::size_t ceil_log2(std::size_t n) {
  std::size_t d = 0;
  while ((std::size_t{1} << d) < n) ++d;
  return d;
}

// n blocks are divisible by every n, by 2^floor(log2 n) and by 16 bytes afterwards, so that the
// closed forms hold without borders.
constexpr std::size_t kBlock = 48;

ScheduleCost cost_of(Operation operation, Algorithm algorithm, int ranks, int pieces = 1,
                     int root = 0) {
  ScheduleRequest request;
  request.operation = operation;
  request.algorithm = algorithm;
  request.ranks = ranks;
  request.pieces = pieces;
  request.root = root;
  const bool blocks = has_blocks(operation);
  request.count = operation == Operation::kBarrier ? 0
                  : blocks                         ? kBlock
                                                   : kBlock * static_cast<std::size_t>(ranks);
  return count_cost(make_schedule(request));
}

struct Closed {
  std::size_t rounds, messages, elements, sent, received;
};

void expect_cost(const ScheduleCost& cost, const Closed& closed, const std::string& what) {
  EXPECT_EQ(cost.rounds, closed.rounds) << what;
  EXPECT_EQ(cost.messages, closed.messages) << what;
  EXPECT_EQ(cost.elements, closed.elements) << what;
  EXPECT_EQ(cost.max_sent_by_rank, closed.sent) << what;
  EXPECT_EQ(cost.max_received_by_rank, closed.received) << what;
}

// For every n: the counted cost of `algorithm` equals closed(n, s).
template <typename ClosedForm>
void expect_closed_form(Operation operation, Algorithm algorithm, ClosedForm closed) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    const auto n = static_cast<std::size_t>(ranks);
    expect_cost(cost_of(operation, algorithm, ranks), closed(n, n * kBlock),
                std::string(to_string(operation)) + " " + std::string(to_string(algorithm)) + " " +
                    std::to_string(n));
  }
}

TEST(ClosedForm, Ring) {
  const auto half = [](std::size_t n, std::size_t s) {
    return Closed{n - 1, n * (n - 1), (n - 1) * s, s * (n - 1) / n, s * (n - 1) / n};
  };
  expect_closed_form(Operation::kReduceScatter, Algorithm::kRing, half);
  expect_closed_form(Operation::kAllGather, Algorithm::kRing, half);
  expect_closed_form(Operation::kAllReduce, Algorithm::kRing, [](std::size_t n, std::size_t s) {
    return Closed{2 * (n - 1), 2 * n * (n - 1), 2 * (n - 1) * s, 2 * s * (n - 1) / n,
                  2 * s * (n - 1) / n};
  });
  expect_closed_form(Operation::kBarrier, Algorithm::kRing, [](std::size_t n, std::size_t) {
    return Closed{2 * (n - 1), 2 * n * (n - 1), 0, 0, 0};
  });
}

TEST(ClosedForm, Chain) {
  for (const auto operation : {Operation::kBroadcast, Operation::kReduce}) {
    for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
      for (int pieces = 1; pieces <= 7; ++pieces) {
        const auto n = static_cast<std::size_t>(ranks);
        const auto k = static_cast<std::size_t>(pieces);
        const std::size_t s = n * kBlock;
        const Closed closed = n == 1 ? Closed{} : Closed{n - 2 + k, (n - 1) * k, (n - 1) * s, s, s};
        expect_cost(cost_of(operation, Algorithm::kRing, ranks, pieces, ranks / 2), closed,
                    std::string(to_string(operation)) + " " + std::to_string(n) + " ranks, " +
                        std::to_string(k) + " pieces");
      }
    }
  }
}

TEST(ClosedForm, Star) {
  // The root's port carries everything.
  const auto whole = [](std::size_t n, std::size_t s, bool from_root) {
    const std::size_t root = (n - 1) * s;
    const std::size_t other = n > 1 ? s : 0;
    return Closed{std::min<std::size_t>(n - 1, 1), n - 1, (n - 1) * s, from_root ? root : other,
                  from_root ? other : root};
  };
  expect_closed_form(Operation::kBroadcast, Algorithm::kStar,
                     [&](std::size_t n, std::size_t s) { return whole(n, s, true); });
  expect_closed_form(Operation::kReduce, Algorithm::kStar,
                     [&](std::size_t n, std::size_t s) { return whole(n, s, false); });
  expect_closed_form(Operation::kScatter, Algorithm::kStar,
                     [&](std::size_t n, std::size_t s) { return whole(n, s / n, true); });
  expect_closed_form(Operation::kGather, Algorithm::kStar,
                     [&](std::size_t n, std::size_t s) { return whole(n, s / n, false); });

  const auto both = [](std::size_t n, std::size_t in, std::size_t out) {
    const std::size_t rounds = n > 1 ? 2 : 0;
    return Closed{rounds, 2 * (n - 1), (n - 1) * (in + out), (n - 1) * out, (n - 1) * in};
  };
  expect_closed_form(Operation::kAllReduce, Algorithm::kStar,
                     [&](std::size_t n, std::size_t s) { return both(n, s, s); });
  expect_closed_form(Operation::kBarrier, Algorithm::kStar,
                     [&](std::size_t n, std::size_t) { return both(n, 0, 0); });
  // A rank beside the root sends its block and receives all, or the reverse: more than the root's
  // (n-1) blocks.
  expect_closed_form(Operation::kAllGather, Algorithm::kStar, [&](std::size_t n, std::size_t s) {
    Closed closed = both(n, s / n, s);
    closed.received = n > 1 ? s : 0;
    return closed;
  });
  expect_closed_form(Operation::kReduceScatter, Algorithm::kStar,
                     [&](std::size_t n, std::size_t s) {
                       Closed closed = both(n, s, s / n);
                       closed.sent = n > 1 ? s : 0;
                       return closed;
                     });
}

TEST(ClosedForm, Tree) {
  // Edges of a binomial scatter carry each block once per level below the root: s/n times the sum
  // over ranks v of the number of ones in v.
  const auto block_levels = [](std::size_t n) {
    std::size_t sum = 0;
    for (std::size_t v = 0; v < n; ++v) sum += static_cast<std::size_t>(__builtin_popcountll(v));
    return sum;
  };
  const auto largest_subtree = [](std::size_t n) {
    std::size_t largest = 0;
    for (std::size_t v = 1; v < n; ++v) {
      const std::size_t lowest_bit = v & (~v + 1);
      largest = std::max(largest, std::min(lowest_bit, n - v));
    }
    return largest;
  };
  const auto whole = [](std::size_t n, std::size_t s, std::size_t root, std::size_t other) {
    return Closed{ceil_log2(n), n - 1, (n - 1) * s, root, other};
  };
  expect_closed_form(Operation::kBroadcast, Algorithm::kTree, [&](std::size_t n, std::size_t s) {
    return whole(n, s, ceil_log2(n) * s, n > 1 ? s : 0);
  });
  expect_closed_form(Operation::kReduce, Algorithm::kTree, [&](std::size_t n, std::size_t s) {
    return whole(n, s, n > 1 ? s : 0, ceil_log2(n) * s);
  });
  expect_closed_form(Operation::kAllReduce, Algorithm::kTree, [&](std::size_t n, std::size_t s) {
    return Closed{2 * ceil_log2(n), 2 * (n - 1), 2 * (n - 1) * s, ceil_log2(n) * s,
                  ceil_log2(n) * s};
  });
  expect_closed_form(Operation::kBarrier, Algorithm::kTree, [&](std::size_t n, std::size_t) {
    return Closed{2 * ceil_log2(n), 2 * (n - 1), 0, 0, 0};
  });
  expect_closed_form(Operation::kScatter, Algorithm::kTree, [&](std::size_t n, std::size_t s) {
    return Closed{ceil_log2(n), n - 1, block_levels(n) * (s / n), s * (n - 1) / n,
                  largest_subtree(n) * (s / n)};
  });
  expect_closed_form(Operation::kGather, Algorithm::kTree, [&](std::size_t n, std::size_t s) {
    return Closed{ceil_log2(n), n - 1, block_levels(n) * (s / n), largest_subtree(n) * (s / n),
                  s * (n - 1) / n};
  });
}

std::size_t floor_log2(std::size_t n) { return ceil_log2(n + 1) - 1; }

TEST(ClosedForm, ChainAllReduce) {
  for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
    for (const int pieces : {1, 3, 6}) {
      const auto n = static_cast<std::size_t>(ranks);
      const auto k = static_cast<std::size_t>(pieces);
      const std::size_t s = n * kBlock;
      const std::size_t most = n > 2 ? 2 * s : s;
      expect_cost(cost_of(Operation::kAllReduce, Algorithm::kChain, ranks, pieces),
                  {2 * (n - 2 + k), 2 * (n - 1) * k, 2 * (n - 1) * s, most, most},
                  "chain " + std::to_string(n) + ", pieces " + std::to_string(k));
    }
  }
}

TEST(ClosedForm, DoubleTree) {
  for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
    for (const int pieces : {1, 2, 3, 6}) {
      const auto n = static_cast<std::size_t>(ranks);
      const auto k = static_cast<std::size_t>(pieces);
      const std::size_t s = n * kBlock;
      const ScheduleCost cost =
          cost_of(Operation::kAllReduce, Algorithm::kDoubleTree, ranks, pieces);
      const std::string what = "double tree " + std::to_string(n) + ", pieces " + std::to_string(k);
      EXPECT_EQ(cost.rounds, 2 * (ceil_log2(n) + k - 1)) << what;
      EXPECT_EQ(cost.messages, 4 * (n - 1) * k) << what;
      EXPECT_EQ(cost.elements, 2 * (n - 1) * s) << what;
      // The rank that may be inner in both trees of an odd number has up to 3 S.
      EXPECT_LE(cost.max_sent_by_rank, (n % 2 == 0 ? 2 : 3) * s) << what;
      EXPECT_LE(cost.max_received_by_rank, (n % 2 == 0 ? 2 : 3) * s) << what;
    }
  }
  EXPECT_EQ(cost_of(Operation::kBarrier, Algorithm::kDoubleTree, 8).rounds, 6U);
}

// d = floor(log2 n), r = n - 2^d ranks that hand their data to another one.
TEST(ClosedForm, HalvingDoubling) {
  expect_closed_form(
      Operation::kAllReduce, Algorithm::kHalvingDoubling, [](std::size_t n, std::size_t s) {
        const std::size_t d = floor_log2(n);
        const std::size_t power = std::size_t{1} << d;
        const std::size_t r = n - power;
        const std::size_t own = 2 * (s - s / power);
        const std::size_t most = n == 1 ? 0 : own + (r > 0 ? s : 0);
        return Closed{2 * d + (r > 0 ? 2 : 0), 2 * d * power + 2 * r, 2 * (n - 1) * s, most, most};
      });
  for (const auto operation : {Operation::kReduceScatter, Operation::kAllGather}) {
    for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
      const auto n = static_cast<std::size_t>(ranks);
      const std::size_t s = n * kBlock;
      const std::size_t d = floor_log2(n);
      const std::size_t r = n - (std::size_t{1} << d);
      const ScheduleCost cost = cost_of(operation, Algorithm::kHalvingDoubling, ranks);
      EXPECT_EQ(cost.rounds, d + (r > 0 ? 2 : 0)) << n;
      EXPECT_EQ(cost.messages, d * (n - r) + 2 * r) << n;
      EXPECT_EQ(cost.elements, (n - 1) * s + r * kBlock) << n;
      if (r == 0) {
        EXPECT_EQ(cost.max_sent_by_rank, s - kBlock) << n;
      }
    }
  }
}

TEST(ClosedForm, DirectMovesWhatTheRingMoves) {
  const auto half = [](std::size_t n, std::size_t s) {
    return Closed{n - 1, n * (n - 1), (n - 1) * s, s * (n - 1) / n, s * (n - 1) / n};
  };
  expect_closed_form(Operation::kReduceScatter, Algorithm::kDirect, half);
  expect_closed_form(Operation::kAllGather, Algorithm::kDirect, half);
  expect_closed_form(Operation::kAllReduce, Algorithm::kDirect, [&](std::size_t n, std::size_t s) {
    const Closed one = half(n, s);
    return Closed{2 * one.rounds, 2 * one.messages, 2 * one.elements, 2 * one.sent,
                  2 * one.received};
  });
}

TEST(ClosedForm, AllToAll) {
  // The full buffer is that of all ranks; one has n blocks and keeps one of them.
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    const auto n = static_cast<std::size_t>(ranks);
    expect_cost(cost_of(Operation::kAllToAll, Algorithm::kDirect, ranks),
                {n - 1, n * (n - 1), n * (n - 1) * kBlock, (n - 1) * kBlock, (n - 1) * kBlock},
                "all-to-all");
  }
}

// N nodes of p ranks, for every p that divides n.
TEST(ClosedForm, Hierarchical) {
  for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
    for (int size = 1; size <= ranks; ++size) {
      if (ranks % size != 0) continue;
      const auto n = static_cast<std::size_t>(ranks);
      const auto p = static_cast<std::size_t>(size);
      const std::size_t nodes = n / p;
      const std::size_t s = n * kBlock;
      const std::string what = std::to_string(nodes) + " nodes of " + std::to_string(p);
      const auto cost = [&](Operation operation) {
        ScheduleRequest request;
        request.operation = operation;
        request.algorithm = Algorithm::kHierarchical;
        request.ranks = ranks;
        request.node_size = size;
        request.count = has_blocks(operation) ? kBlock : s;
        return count_cost(make_schedule(request));
      };
      const std::size_t flat = s - kBlock;  // the ring's (n-1)/n S
      expect_cost(cost(Operation::kAllReduce),
                  {2 * (p - 1) + 2 * (nodes - 1), 2 * n * (p - 1 + nodes - 1), 2 * (n - 1) * s,
                   2 * flat, 2 * flat},
                  what);
      const std::size_t inside = n * nodes * (p - 1);
      const std::size_t between = n * (nodes - 1);
      for (const auto operation : {Operation::kAllGather, Operation::kReduceScatter}) {
        expect_cost(cost(operation), {nodes - 1 + p - 1, inside + between, (n - 1) * s, flat, flat},
                    what);
      }
      const ScheduleCost broadcast = cost(Operation::kBroadcast);
      EXPECT_EQ(broadcast.rounds, ceil_log2(nodes) + ceil_log2(p)) << what;
      EXPECT_EQ(broadcast.messages, n - 1) << what;
      EXPECT_EQ(broadcast.elements, (n - 1) * s) << what;
      EXPECT_EQ(cost(Operation::kReduce).elements, broadcast.elements) << what;
    }
  }
}

TEST(ClosedForm, TreeCompositionsAreTheSumOfTheirParts) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    const auto n = static_cast<std::size_t>(ranks);
    const auto part = [&](Operation operation) {
      ScheduleRequest request;
      request.operation = operation;
      request.algorithm = Algorithm::kTree;
      request.ranks = ranks;
      request.count = has_blocks(operation) ? kBlock : kBlock * n;
      return count_cost(make_schedule(request));
    };
    const auto expect_sum = [&](Operation whole, Operation first, Operation second) {
      const ScheduleCost cost = part(whole);
      EXPECT_EQ(cost.rounds, part(first).rounds + part(second).rounds);
      EXPECT_EQ(cost.messages, part(first).messages + part(second).messages);
      EXPECT_EQ(cost.elements, part(first).elements + part(second).elements);
    };
    expect_sum(Operation::kAllGather, Operation::kGather, Operation::kBroadcast);
    expect_sum(Operation::kReduceScatter, Operation::kReduce, Operation::kScatter);
  }
}

TEST(ClosedForm, TreeScatterFromAnotherRootMovesTheSameBytes) {
  for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
    const ScheduleCost from_zero = cost_of(Operation::kScatter, Algorithm::kTree, ranks);
    for (int root = 1; root < ranks; ++root) {
      const ScheduleCost cost = cost_of(Operation::kScatter, Algorithm::kTree, ranks, 1, root);
      EXPECT_EQ(cost.rounds, from_zero.rounds);
      EXPECT_EQ(cost.elements, from_zero.elements);
      // A subtree that wraps around the end of the buffer is two messages; at most one a round.
      EXPECT_GE(cost.messages, from_zero.messages);
      EXPECT_LE(cost.messages, from_zero.messages + cost.rounds);
    }
  }
}

// No all-reduce without help of the network sends less than 2(n-1)/n s per rank.
TEST(ClosedForm, RingAllReduceSendsTheLeastPossible) {
  for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
    const std::size_t least =
        cost_of(Operation::kAllReduce, Algorithm::kRing, ranks).max_sent_by_rank;
    EXPECT_LE(least, cost_of(Operation::kAllReduce, Algorithm::kStar, ranks).max_sent_by_rank);
    EXPECT_LE(least, cost_of(Operation::kAllReduce, Algorithm::kTree, ranks).max_sent_by_rank);
  }
}

TEST(ClosedForm, FourMegabytesOnFourRanks) {
  // Linear(1000 -> 1000) with bias, 4,004,000 bytes: 6.006 MB per rank on the ring.
  ScheduleRequest request;
  request.ranks = 4;
  request.count = 1'001'000;
  request.border = Border::kEven;
  EXPECT_EQ(count_cost(make_schedule(request)).max_sent_by_rank * sizeof(float), 6'006'000U);
}

}  // namespace
}  // namespace ringside
