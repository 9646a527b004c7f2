// The two executors give the same bits, and the right numbers.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "comm/all_to_all.h"
#include "comm/rank_buffers.h"
#include "comm/stepwise.h"
#include "sim/comm/fused.h"
#include "support/collective_matrix.h"

namespace ringside::sim {
namespace {

using test::CollectiveCase;

// The ranks' buffers of one case in host memory.
struct HostBuffers {
  std::vector<std::vector<std::byte>> send;
  std::vector<std::vector<std::byte>> recv;
  std::vector<RankBuffers> ranks;
};

ScheduleRequest request_of(const CollectiveCase& c) {
  ScheduleRequest request;
  request.operation = c.operation;
  request.algorithm = c.algorithm;
  request.ranks = c.ranks;
  request.count = c.count;
  request.root = c.root;
  request.dtype = c.dtype;
  request.counts = c.counts;
  return request;
}

template <typename T>
HostBuffers make_buffers(const CollectiveCase& c, const Schedule& schedule) {
  HostBuffers buffers;
  for (int rank = 0; rank < c.ranks; ++rank) {
    const BufferSizes sizes = buffer_sizes(test::bare_call(c), rank, c.ranks);
    buffers.send.emplace_back(sizes.send * sizeof(T));
    buffers.recv.emplace_back(sizes.recv * sizeof(T));
    for (std::size_t i = 0; i < sizes.send; ++i) {
      const T value = test::contribution<T>(c.seed, rank, i);
      std::memcpy(buffers.send.back().data() + i * sizeof(T), &value, sizeof(T));
    }
  }
  for (int rank = 0; rank < c.ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    RankBuffers views = rank_buffers(schedule, CollectiveCall{}, rank);
    views.source = buffers.send[index].data();
    views.destination = buffers.recv[index].data();
    buffers.ranks.push_back(views);
  }
  return buffers;
}

template <typename T>
void compare_executors(const CollectiveCase& c, const Schedule& schedule) {
  HostBuffers stepwise = make_buffers<T>(c, schedule);
  run_in_memory(schedule, c.op, stepwise.ranks);
  HostBuffers fused = make_buffers<T>(c, schedule);
  if (c.operation == Operation::kAllToAll) {
    exchange_blocks(schedule.request, fused.ranks);
  } else {
    const FusedPlan plan = make_fused_plan(schedule);
    // In parts, as the pool does.
    const std::size_t half = schedule.elements / 2;
    run_fused(plan, c.op, fused.ranks, {half, schedule.elements});
    run_fused(plan, c.op, fused.ranks, {0, half});
  }
  for (int rank = 0; rank < c.ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    ASSERT_EQ(stepwise.recv[index], fused.recv[index]) << test::describe(c) << ", rank " << rank;
    std::vector<T> values(fused.recv[index].size() / sizeof(T));
    if (!values.empty()) {
      std::memcpy(values.data(), fused.recv[index].data(), fused.recv[index].size());
    }
    ASSERT_EQ(test::first_fault(c, rank, values.data()), "");
  }
}

TEST(Executors, AgreeBitForBitOnTheWholeMatrix) {
  for (const CollectiveCase& c : test::collective_matrix()) {
    const Schedule schedule = make_schedule(request_of(c));
    visit_dtype(c.dtype, [&]<typename T>() { compare_executors<T>(c, schedule); });
    if (HasFatalFailure()) return;
  }
}

TEST(Executors, AgreeOnEveryBorderAndDirection) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const auto border : {Border::kNccl, Border::kGloo, Border::kEven}) {
      for (const auto direction : {Direction::kUp, Direction::kDown}) {
        for (const std::size_t count : {7, 1000, 5000}) {
          CollectiveCase c;
          c.ranks = ranks;
          c.count = count;
          c.seed = count;
          c.op = ReduceOp::kAvg;
          ScheduleRequest request = request_of(c);
          request.border = border;
          request.direction = direction;
          compare_executors<float>(c, make_schedule(request));
        }
      }
    }
  }
}

TEST(Executors, AgreeWithCountsPerRank) {
  for (const auto operation : {Operation::kGather, Operation::kScatter, Operation::kAllGather}) {
    for (const Algorithm algorithm : algorithms_for(operation)) {
      CollectiveCase c;
      c.operation = operation;
      c.algorithm = algorithm;
      c.ranks = 5;
      c.root = 3;
      c.counts = {3, 0, 5, 1, 4};
      c.dtype = DType::kFloat64;
      c.seed = 17;
      compare_executors<double>(c, make_schedule(request_of(c)));
    }
  }
}

// docs/communication.md tabulates the order of additions; the sums below are that table.
TEST(Executors, AddInTheDocumentedOrder) {
  constexpr std::size_t kCount = 64;
  const auto g = [](int rank, std::size_t i) { return test::contribution<float>(9, rank, i); };
  const auto expect_order = [&](Algorithm algorithm, Direction direction, auto sum) {
    ScheduleRequest request;
    request.algorithm = algorithm;
    request.direction = direction;
    request.border = Border::kEven;
    request.ranks = 4;
    request.count = kCount;
    std::vector<std::vector<float>> values(4, std::vector<float>(kCount));
    std::vector<RankBuffers> buffers;
    for (int rank = 0; rank < 4; ++rank) {
      auto& own = values[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < kCount; ++i) own[i] = g(rank, i);
      auto* memory = reinterpret_cast<std::byte*>(own.data());
      buffers.push_back({{0, kCount}, memory, {0, kCount}, memory});
    }
    run_fused(make_fused_plan(make_schedule(request)), ReduceOp::kSum, buffers, {0, kCount});
    for (std::size_t i = 0; i < kCount; ++i) {
      const int chunk = static_cast<int>(i / 16);
      const auto in_ring = [&](int step) { return g((chunk + 4 + step) % 4, i); };
      ASSERT_EQ(values[2][i], sum(i, in_ring)) << to_string(algorithm) << " " << i;
    }
  };
  expect_order(Algorithm::kRing, Direction::kUp, [](std::size_t, auto in_ring) {
    return ((in_ring(1) + in_ring(2)) + in_ring(3)) + in_ring(0);
  });
  expect_order(Algorithm::kRing, Direction::kDown, [](std::size_t, auto in_ring) {
    return ((in_ring(-1) + in_ring(-2)) + in_ring(-3)) + in_ring(0);
  });
  expect_order(Algorithm::kStar, Direction::kUp,
               [&](std::size_t i, auto) { return ((g(0, i) + g(1, i)) + g(2, i)) + g(3, i); });
  expect_order(Algorithm::kTree, Direction::kUp,
               [&](std::size_t i, auto) { return (g(0, i) + g(2, i)) + (g(1, i) + g(3, i)); });
  expect_order(Algorithm::kChain, Direction::kUp,
               [&](std::size_t i, auto) { return ((g(1, i) + g(2, i)) + g(3, i)) + g(0, i); });
  expect_order(Algorithm::kDoubleTree, Direction::kUp, [&](std::size_t i, auto) {
    return i < kCount / 2 ? g(0, i) + ((g(2, i) + g(1, i)) + g(3, i))
                          : g(3, i) + ((g(1, i) + g(0, i)) + g(2, i));
  });
  expect_order(Algorithm::kHalvingDoubling, Direction::kUp,
               [&](std::size_t i, auto) { return (g(0, i) + g(2, i)) + (g(1, i) + g(3, i)); });
  expect_order(Algorithm::kHierarchical, Direction::kUp,
               [&](std::size_t i, auto) { return (g(0, i) + g(1, i)) + (g(2, i) + g(3, i)); });
  expect_order(Algorithm::kDirect, Direction::kUp, [](std::size_t, auto in_ring) {
    return ((in_ring(0) + in_ring(3)) + in_ring(2)) + in_ring(1);
  });
}

// No schedule of ours lets ranks compute values of their own; recursive doubling with operands in
// rank order does. In place, each destination is another target's operand.
TEST(FusedPlan, TargetsThatNeedEachOthersPlacesAreEvaluatedFirst) {
  ScheduleRequest request;
  request.ranks = 2;
  request.count = 5000;
  Schedule schedule = make_schedule(request);
  const Range all{0, 5000};
  schedule.rounds = {{{0, 1, all, Action::kCombine, -1}, {1, 0, all, Action::kCombine, -1}}};
  ASSERT_EQ(check_schedule(schedule), "");
  const FusedPlan plan = make_fused_plan(schedule);
  ASSERT_EQ(plan.segments.size(), 1U);
  EXPECT_EQ(plan.segments[0].targets.size(), 2U);

  std::vector<std::vector<float>> values(2, std::vector<float>(5000));
  std::vector<RankBuffers> buffers;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (std::size_t i = 0; i < 5000; ++i) {
      values[rank][i] = test::contribution<float>(1, static_cast<int>(rank), i);
    }
    auto* memory = reinterpret_cast<std::byte*>(values[rank].data());
    buffers.push_back({all, memory, all, memory});
  }
  run_fused(plan, ReduceOp::kSum, buffers, all);
  for (std::size_t i = 0; i < 5000; ++i) {
    const float sum = test::contribution<float>(1, 0, i) + test::contribution<float>(1, 1, i);
    ASSERT_EQ(values[0][i], sum);
    ASSERT_EQ(values[1][i], sum);
  }
}

// A chain of any length needs two temporaries, so that it stays in cache.
TEST(FusedPlan, AChainOfAdditionsNeedsFewTemporaries) {
  ScheduleRequest request;
  request.ranks = 16;
  request.count = 1600;
  EXPECT_LE(make_fused_plan(make_schedule(request)).temporaries, 2);
  request.algorithm = Algorithm::kTree;
  EXPECT_LE(make_fused_plan(make_schedule(request)).temporaries, 5);
}

TEST(FusedPlan, EqualNeighboursAreOneSegment) {
  ScheduleRequest request;
  request.operation = Operation::kBroadcast;
  request.ranks = 4;
  request.count = 100;
  request.pieces = 10;
  EXPECT_EQ(make_fused_plan(make_schedule(request)).segments.size(), 1U);
}

}  // namespace
}  // namespace ringside::sim
