// The parameter server: who is who, and the seeded order of asynchronous turns.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "parallel/parameter_server_layout.h"
#include "parallel/parameter_server_order.h"

namespace ringside::test {
namespace {

// ---------------------------------------------------------------- layout

TEST(ParameterServerLayout, WorkersComeBeforeServersAndLeadsFirst) {
  ParameterServerOptions options;
  options.workers = 3;
  options.worker_devices = 2;
  options.servers = 2;
  options.server_devices = 2;
  const ParameterServerLayout layout(options);
  EXPECT_TRUE(layout.is_worker(5));
  EXPECT_FALSE(layout.is_worker(6));
  EXPECT_EQ(layout.worker_of(5), 2);
  EXPECT_EQ(layout.worker_lead(2), 4);
  EXPECT_EQ(layout.worker_members(2), (std::vector<int>{5}));
  EXPECT_EQ(layout.server_of(9), 1);
  EXPECT_EQ(layout.device_of_server(9), 1);
  EXPECT_EQ(layout.server_lead(1), 8);
  EXPECT_EQ(layout.server_members(1), (std::vector<int>{9}));
  EXPECT_EQ(layout.served_workers(8), (std::vector<int>{0, 2}));
  EXPECT_EQ(layout.served_workers(9), (std::vector<int>{1}));
  EXPECT_EQ(layout.serving_rank(1, 1), 9);
  EXPECT_EQ(layout.serving_rank(2, 0), 6);
}

TEST(ParameterServerLayout, ServersKeepEqualParts) {
  ParameterServerOptions options;
  options.servers = 3;
  const ParameterServerLayout layout(options);
  EXPECT_EQ(layout.shard(0, 11), (Range{0, 4}));
  EXPECT_EQ(layout.shard(1, 11), (Range{4, 8}));
  EXPECT_EQ(layout.shard(2, 11), (Range{8, 11}));
}

// ---------------------------------------------------------------- asynchronous order

std::vector<ServerTurn> turns_of(const std::vector<int>& steps, int staleness, std::uint64_t seed) {
  AsynchronousOrder order(steps, staleness, seed);
  std::vector<ServerTurn> turns;
  while (const auto turn = order.next()) turns.push_back(*turn);
  return turns;
}

std::vector<ServerTurn> turns_of(int workers, int steps, int staleness, std::uint64_t seed) {
  return turns_of(std::vector<int>(static_cast<std::size_t>(workers), steps), staleness, seed);
}

/// "p0" a pull of worker 0, "P0:2" its push, two updates old.
std::string text_of(const std::vector<ServerTurn>& turns) {
  std::string text;
  for (const ServerTurn& turn : turns) {
    text += turn.kind == ServerTurn::Kind::kPull ? fmt::format("p{} ", turn.worker)
                                                 : fmt::format("P{}:{} ", turn.worker, turn.age);
  }
  return text;
}

TEST(AsynchronousOrder, IsTheSameForEver) {
  EXPECT_EQ(text_of(turns_of(3, 3, 1, 5)),
            "p0 p1 p2 P2:0 p2 P0:1 p0 P1:2 p1 P0:1 p0 P2:3 p2 P1:2 p1 P1:0 P2:2 P0:4 ");
  EXPECT_EQ(text_of(turns_of(4, 2, 0, 1)),
            "p0 p1 p2 p3 P1:0 P3:1 P0:2 P2:3 p0 p1 p2 p3 P3:0 P1:1 P2:2 P0:3 ");
}

TEST(AsynchronousOrder, KeepsNoTurnsThatAreNotTaken) {
  AsynchronousOrder order(std::vector<int>(16384, 1'000'000'000), 3, 7);
  for (int turn = 0; turn < 50'000; ++turn) ASSERT_TRUE(order.next());
}

TEST(AsynchronousOrder, EveryWorkerPullsAndPushesEachStepAndKeepsTheBound) {
  for (const int staleness : {0, 1, 3}) {
    const int workers = 4;
    const int steps = 9;
    std::map<int, int> pushed;
    std::map<int, int> pulled;
    for (int worker = 0; worker < workers; ++worker) pushed[worker] = pulled[worker] = 0;
    int furthest = 0;
    int pushes = 0;
    std::map<int, int> pulled_at;
    for (const ServerTurn& turn : turns_of(workers, steps, staleness, 7)) {
      if (turn.kind == ServerTurn::Kind::kPush) {
        EXPECT_EQ(turn.step, pushed[turn.worker]++);
        EXPECT_EQ(pulled[turn.worker], turn.step + 1) << "a push without a pull before it";
        EXPECT_EQ(turn.age, pushes++ - pulled_at[turn.worker]);
        continue;
      }
      EXPECT_EQ(turn.step, pulled[turn.worker]++);
      pulled_at[turn.worker] = pushes;
      EXPECT_EQ(turn.step, pushed[turn.worker]) << "a pull before its last push";
      int slowest = steps;
      for (const auto& [worker, count] : pushed) slowest = std::min(slowest, count);
      EXPECT_LE(turn.step - slowest, staleness);
      furthest = std::max(furthest, turn.step - slowest);
    }
    EXPECT_EQ(furthest, staleness) << "the bound is made use of";
    for (const auto& [worker, count] : pushed) EXPECT_EQ(count, steps);
  }
}

TEST(AsynchronousOrder, IsAFunctionOfTheSeed) {
  EXPECT_EQ(turns_of(3, 20, 2, 5), turns_of(3, 20, 2, 5));
  EXPECT_NE(turns_of(3, 20, 2, 5), turns_of(3, 20, 2, 6));
  EXPECT_TRUE(turns_of(3, 0, 2, 5).empty());
}

// Worker 1 has one step: the others are bound to each other alone.
TEST(AsynchronousOrder, AWorkerWithoutStepsHoldsNobodyBack) {
  for (const int staleness : {0, 1}) {
    std::map<int, int> pushed;
    for (const ServerTurn& turn : turns_of({5, 1, 5}, staleness, 7)) {
      if (turn.kind == ServerTurn::Kind::kPull) {
        EXPECT_LE(turn.step - std::min(pushed[0], pushed[2]), staleness);
      } else {
        ++pushed[turn.worker];
      }
    }
    EXPECT_EQ(pushed, (std::map<int, int>{{0, 5}, {1, 1}, {2, 5}}));
  }
}

}  // namespace
}  // namespace ringside::test
