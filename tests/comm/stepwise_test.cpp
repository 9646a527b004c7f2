// The stepwise executor with one thread per rank and a transport that blocks, as over MPI: the same
// results as all ranks on one thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/stepwise.h"
#include "schedule/ownership.h"
#include "support/collective_case.h"
#include "support/ranks.h"

namespace ringside {
namespace {

// What is sent lies where it is until its round is finished, so that a schedule whose receives
// would overwrite it shows.
class Exchange {
 public:
  void put(int source, int destination, std::span<const std::byte> data) {
    const std::lock_guard lock(mutex_);
    boxes_[{source, destination}].push_back(data);
    arrived_.notify_all();
  }
  void take(int source, int destination, std::span<std::byte> into) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{source, destination}];
    arrived_.wait(lock, [&] { return !box.empty(); });
    ASSERT_EQ(box.front().size(), into.size());
    if (!into.empty()) std::memcpy(into.data(), box.front().data(), into.size());
    box.pop_front();
    arrived_.notify_all();
  }
  void wait_until_taken(int source) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] {
      return std::all_of(boxes_.begin(), boxes_.end(), [&](const auto& box) {
        return box.first.first != source || box.second.empty();
      });
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::span<const std::byte>>> boxes_;
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(Exchange& exchange, int rank) : exchange_(exchange), rank_(rank) {}
  void send(int destination, std::span<const std::byte> data) override {
    exchange_.put(rank_, destination, data);
  }
  void receive(int source, std::span<std::byte> data) override {
    exchange_.take(source, rank_, data);
  }
  void finish_round() override { exchange_.wait_until_taken(rank_); }

 private:
  Exchange& exchange_;
  int rank_;
};

void run_case(const test::CollectiveCase& c) {
  ScheduleRequest request;
  request.operation = c.operation;
  request.algorithm = c.algorithm;
  request.ranks = c.ranks;
  request.count = c.count;
  request.root = c.root;
  const Schedule schedule = make_schedule(request);
  Exchange exchange;
  test::run_ranks(c.ranks, [&](int rank) {
    const BufferSizes sizes = buffer_sizes(test::bare_call(c), rank, c.ranks);
    std::vector<float> send(sizes.send);
    for (std::size_t i = 0; i < send.size(); ++i) {
      send[i] = test::contribution<float>(c.seed, rank, i);
    }
    std::vector<float> recv(sizes.recv);
    const RankBuffers buffers{
        schedule::input_range(schedule, rank), reinterpret_cast<const std::byte*>(send.data()),
        schedule::output_range(schedule, rank), reinterpret_cast<std::byte*>(recv.data())};
    ThreadTransport transport(exchange, rank);
    run_stepwise(schedule, c.op, rank, buffers, transport);
    EXPECT_EQ(test::first_fault(c, rank, recv.data()), "");
  });
}

TEST(Stepwise, RanksOnThreadsOverABlockingTransport) {
  for (const Operation operation : test::kCollectives) {
    for (const Algorithm algorithm : algorithms_for(operation)) {
      test::CollectiveCase c;
      c.operation = operation;
      c.algorithm = algorithm;
      c.ranks = 5;
      c.count = operation == Operation::kBarrier ? 0 : 33;
      c.root = has_root(operation) ? 3 : 0;
      c.op = ReduceOp::kAvg;
      c.seed = 11;
      run_case(c);
    }
  }
}

}  // namespace
}  // namespace ringside
